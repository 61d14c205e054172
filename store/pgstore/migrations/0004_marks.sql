-- What a list of threads is filtered by: a row for each mark of a thread (package lists), with the
-- minute of the thread's last entry, so that the newest threads of one mark are next to each other.
-- Summaries carry labels, notes and effects from this version on.
CREATE TABLE posthouse.marks (
	thread bigint NOT NULL,
	minute bigint NOT NULL,
	mark   bytea  NOT NULL,
	name   bytea  NOT NULL,
	PRIMARY KEY (mark, minute, name)
);
-- All marks of the thread, each after its length in two bytes. NULL: not filled in yet.
ALTER TABLE posthouse.threads ADD COLUMN marks bytea;

-- mark keeps the rows of a thread's marks. It is called when the marks change, and once a minute
-- while the thread has entries.
CREATE FUNCTION posthouse.mark() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
	at integer := 0;
	n  integer;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		WHILE at < octet_length(OLD.marks) LOOP
			n := get_byte(OLD.marks, at) * 256 + get_byte(OLD.marks, at + 1);
			DELETE FROM posthouse.marks m WHERE m.mark = substring(OLD.marks FROM at + 3 FOR n) AND m.minute = OLD.minute AND m.name = OLD.name;
			at := at + 2 + n;
		END LOOP;
		at := 0;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		WHILE at < octet_length(NEW.marks) LOOP
			n := get_byte(NEW.marks, at) * 256 + get_byte(NEW.marks, at + 1);
			INSERT INTO posthouse.marks (mark, minute, name, thread) VALUES (substring(NEW.marks FROM at + 3 FOR n), NEW.minute, NEW.name, NEW.id)
				ON CONFLICT DO NOTHING;
			at := at + 2 + n;
		END LOOP;
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER marked AFTER INSERT ON posthouse.threads FOR EACH ROW EXECUTE FUNCTION posthouse.mark();
CREATE TRIGGER marked_again AFTER UPDATE ON posthouse.threads FOR EACH ROW
	WHEN (OLD.minute <> NEW.minute OR OLD.marks IS DISTINCT FROM NEW.marks) EXECUTE FUNCTION posthouse.mark();
CREATE TRIGGER unmarked AFTER DELETE ON posthouse.threads FOR EACH ROW EXECUTE FUNCTION posthouse.mark();

-- The functions with the marks. A program that knows only those without them can no longer
-- append: it would leave the marks as they were.
DROP FUNCTION posthouse.append;
DROP FUNCTION posthouse.append_many;

-- append appends one entry. Status 0 is done, 1 there already, 2 a conflict with the
-- tail, and 3 an id that is taken. Whatever is refused with a status has written nothing.
--
-- Unless it is careful it looks at ids only when it writes them. One that is taken then
-- violates the key of table ids, and the transaction is to be run again with care.
CREATE FUNCTION posthouse.append(
	careful boolean, thread_name bytea, after_seq bigint, after_hash bytea,
	new_seq bigint, new_generation bigint, new_prev bytea, new_hash bytea, new_sig bytea, new_header bytea,
	new_kept integer, new_gone bytea, new_bodies bytea,
	new_state bytea, new_live boolean, new_due bigint, new_minute bigint, new_marks bytea,
	new_gates bigint, gate_lists bigint[], gate_ids bytea[],
	dropped bytea[], new_ids bytea[], orders bytea[], coordinations bigint[], terms bigint[], ends integer[],
	OUT status integer, OUT tail_seq bigint, OUT tail_hash bytea,
	OUT taken bytea, OUT taken_thread bytea, OUT taken_seq bigint
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
	tid   bigint;
	mark  bigint;
	had   bigint;
BEGIN
	status := 0;
	IF careful AND new_ids IS NOT NULL THEN
		SELECT t.id, t.seq, t.hash INTO tid, tail_seq, tail_hash FROM posthouse.threads t WHERE t.name = thread_name FOR UPDATE;
		IF tid IS NULL AND after_seq = 0 AND after_hash IS NULL OR tail_seq = after_seq AND tail_hash = after_hash THEN
			SELECT i.id, o.name, i.seq INTO taken, taken_thread, taken_seq
				FROM posthouse.ids i JOIN posthouse.threads o ON o.id = i.thread
				WHERE i.id = ANY (new_ids) AND NOT coalesce(i.thread = tid AND i.id = ANY (dropped), false) LIMIT 1;
			IF FOUND THEN
				status := 3;
				RETURN;
			END IF;
		END IF;
		tid := NULL;
	END IF;

	IF after_seq = 0 AND after_hash IS NULL THEN
		INSERT INTO posthouse.threads AS t (seq, watch, due, minute, gates, live, name, hash, state, marks)
			VALUES (new_seq, txid_current(), new_due, new_minute, 0, new_live, thread_name, new_hash, new_state, new_marks)
			ON CONFLICT (name) DO NOTHING RETURNING t.id, t.watch, t.gates INTO tid, mark, had;
	ELSE
		UPDATE posthouse.threads t
			SET seq = new_seq, hash = new_hash, watch = greatest(t.watch, txid_current()), state = new_state, live = new_live, due = new_due, minute = new_minute, marks = new_marks
			WHERE t.name = thread_name AND t.seq = after_seq AND t.hash = after_hash
			RETURNING t.id, t.watch, t.gates INTO tid, mark, had;
	END IF;
	IF tid IS NULL THEN
		SELECT t.id, t.seq, t.hash INTO tid, tail_seq, tail_hash FROM posthouse.threads t WHERE t.name = thread_name;
		status := 2;
		IF tail_seq = new_seq AND tail_hash = new_hash
			OR EXISTS (SELECT FROM posthouse.entries e WHERE e.thread = tid AND e.seq = new_seq AND e.hash = new_hash) THEN
			status := 1;
		END IF;
		RETURN;
	END IF;

	INSERT INTO posthouse.entries (thread, seq, watch, generation, kept, prev, hash, sig, header, gone, bodies)
		VALUES (tid, new_seq, mark, new_generation, new_kept, new_prev, new_hash, new_sig, new_header, new_gone, new_bodies);

	IF dropped IS NOT NULL THEN
		DELETE FROM posthouse.ids i WHERE i.id = ANY (dropped) AND i.thread = tid;
	END IF;
	IF new_ids IS NOT NULL THEN
		INSERT INTO posthouse.ids (thread, seq, coordination, id, order_key, terms)
			SELECT tid, new_seq, coordinations[n], new_ids[n], orders[n], terms[coalesce(ends[n - 1], 0) + 1 : ends[n]]
				FROM generate_series(1, cardinality(new_ids)) n;
	END IF;

	IF had <> new_gates THEN
		UPDATE posthouse.threads t SET gates = new_gates WHERE t.id = tid;
		DELETE FROM posthouse.gates g WHERE g.thread = tid
			AND NOT EXISTS (SELECT FROM unnest(gate_lists, gate_ids) AS u(list, gate) WHERE u.list = g.list AND u.gate = g.gate);
		INSERT INTO posthouse.gates (list, thread, gate)
			SELECT u.list, tid, u.gate FROM unnest(gate_lists, gate_ids) AS u(list, gate)
			ON CONFLICT DO NOTHING;
	END IF;
END
$$;

-- append_many appends entries of different threads, which are sorted by name. It returns
-- those that are refused, as append does without care; the others are appended. It is not
-- made for many open gates in one thread.
CREATE FUNCTION posthouse.append_many(
	names bytea[], after_seqs bigint[], after_hashes bytea[],
	seqs bigint[], generations bigint[], prevs bytea[], hashes bytea[], sigs bytea[], headers bytea[],
	kepts integer[], gones bytea[], all_bodies bytea[],
	states bytea[], lives boolean[], dues bigint[], minutes bigint[], marked bytea[], sums bigint[],
	gate_of integer[], gate_lists bigint[], gate_ids bytea[],
	dropped_of integer[], dropped bytea[],
	id_of integer[], new_ids bytea[], orders bytea[], coordinations bigint[], terms bigint[], ends integer[]
) RETURNS TABLE (entry integer, status integer, tail_seq bigint, tail_hash bytea)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
	SET enable_material = off SET random_page_cost = 0 SET seq_page_cost = 0 SET cpu_index_tuple_cost = 0 SET cpu_operator_cost = 0.000001 AS $$
DECLARE
	tids    bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(names)]);
	marks   bigint[] := tids;
	changed integer[] := '{}'; -- entries whose open gates are others than before
	taken   integer := 0;
	r       record;
BEGIN
	FOR r IN
		UPDATE posthouse.threads t
			SET seq = n.seq, hash = n.hash, watch = greatest(t.watch, txid_current()), state = n.state, live = n.live, due = n.due, minute = n.minute, marks = n.marks
			FROM unnest(names, after_seqs, after_hashes, seqs, hashes, states, lives, dues, minutes, marked)
				WITH ORDINALITY AS n(name, after_seq, after_hash, seq, hash, state, live, due, minute, marks, i)
			WHERE t.name = n.name AND t.seq = n.after_seq AND t.hash = n.after_hash
			RETURNING n.i, t.id, t.watch, t.gates
	LOOP
		tids[r.i] := r.id;
		marks[r.i] := r.watch;
		taken := taken + 1;
		IF r.gates <> sums[r.i] THEN
			changed := changed || r.i::integer;
		END IF;
	END LOOP;
	IF 0 = ANY (after_seqs) THEN
		FOR r IN
			WITH fresh AS (
				INSERT INTO posthouse.threads AS t (seq, watch, due, minute, gates, live, name, hash, state, marks)
					SELECT n.seq, txid_current(), n.due, n.minute, 0, n.live, n.name, n.hash, n.state, n.marks
						FROM unnest(names, after_seqs, after_hashes, seqs, hashes, states, lives, dues, minutes, marked)
							AS n(name, after_seq, after_hash, seq, hash, state, live, due, minute, marks)
						WHERE n.after_seq = 0 AND n.after_hash IS NULL
					ON CONFLICT (name) DO NOTHING RETURNING t.id, t.watch, t.name
			) SELECT n.i, f.id, f.watch FROM fresh f JOIN unnest(names) WITH ORDINALITY AS n(name, i) ON n.name = f.name
		LOOP
			tids[r.i] := r.id;
			marks[r.i] := r.watch;
			taken := taken + 1;
			IF sums[r.i] <> 0 THEN
				changed := changed || r.i::integer;
			END IF;
		END LOOP;
	END IF;
	IF taken < cardinality(names) THEN
		RETURN QUERY SELECT n.i::integer,
			CASE WHEN t.seq = n.seq AND t.hash = n.hash
				OR EXISTS (SELECT FROM posthouse.entries e WHERE e.thread = t.id AND e.seq = n.seq AND e.hash = n.hash)
				THEN 1 ELSE 2 END, t.seq, t.hash
			FROM unnest(names, seqs, hashes, tids) WITH ORDINALITY AS n(name, seq, hash, tid, i)
			LEFT JOIN posthouse.threads t ON t.name = n.name WHERE n.tid IS NULL;
	END IF;

	INSERT INTO posthouse.entries (thread, seq, watch, generation, kept, prev, hash, sig, header, gone, bodies)
		SELECT n.* FROM unnest(tids, seqs, marks, generations, kepts, prevs, hashes, sigs, headers, gones, all_bodies)
			AS n(tid, seq, mark, generation, kept, prev, hash, sig, header, gone, bodies)
		WHERE n.tid IS NOT NULL;

	IF dropped IS NOT NULL THEN
		DELETE FROM posthouse.ids i USING unnest(dropped_of, dropped) AS d(n, id)
			WHERE i.id = d.id AND i.thread = tids[d.n];
	END IF;
	IF new_ids IS NOT NULL THEN
		INSERT INTO posthouse.ids (thread, seq, coordination, id, order_key, terms)
			SELECT tids[n.n], seqs[n.n], n.coordination, n.id, n.order_key,
				CASE WHEN n.order_key IS NOT NULL THEN terms[coalesce(ends[n.i - 1], 0) + 1 : ends[n.i]] END
				FROM unnest(id_of, new_ids, orders, coordinations) WITH ORDINALITY AS n(n, id, order_key, coordination, i)
				WHERE tids[n.n] IS NOT NULL;
	END IF;

	IF changed <> '{}' THEN
		UPDATE posthouse.threads t SET gates = sums[c.n] FROM unnest(changed) AS c(n) WHERE t.id = tids[c.n];
		DELETE FROM posthouse.gates g USING unnest(changed) AS c(n) WHERE g.thread = tids[c.n]
			AND NOT EXISTS (SELECT FROM unnest(gate_of, gate_lists, gate_ids) AS u(n, list, gate) WHERE u.n = c.n AND u.list = g.list AND u.gate = g.gate);
		INSERT INTO posthouse.gates (list, thread, gate)
			SELECT u.list, tids[u.n], u.gate FROM unnest(gate_of, gate_lists, gate_ids) AS u(n, list, gate) WHERE u.n = ANY (changed)
			ON CONFLICT DO NOTHING;
	END IF;
END
$$;
