package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/terms"
)

const (
	checkThreads = "SELECT t.id, t.name, t.seq, t.hash, t.live, t.due, t.minute, t.gates, t.marks, t.state FROM posthouse.threads t WHERE t.id > $1 ORDER BY t.id LIMIT 1"
	checkLog     = "SELECT " + entryColumns + " FROM posthouse.entries e WHERE e.thread = $1 ORDER BY e.seq"
	checkIDs     = "SELECT i.id, i.seq, i.coordination, i.order_key, i.terms FROM posthouse.ids i WHERE i.thread = $1"
	checkMark    = "SELECT m.thread FROM posthouse.marks m WHERE m.mark = $1 AND m.minute = $2 AND m.name = $3"
	checkGates   = "SELECT g.list, g.gate FROM posthouse.gates g WHERE g.thread = $1"
)

// strays are rows that belong to no thread.
var strays = []struct{ sql, what string }{
	{"SELECT DISTINCT e.thread FROM posthouse.entries e WHERE NOT EXISTS (SELECT FROM posthouse.threads t WHERE t.id = e.thread)", "entries"},
	{"SELECT DISTINCT i.thread FROM posthouse.ids i WHERE NOT EXISTS (SELECT FROM posthouse.threads t WHERE t.id = i.thread)", "ids"},
	{"SELECT DISTINCT g.thread FROM posthouse.gates g WHERE NOT EXISTS (SELECT FROM posthouse.threads t WHERE t.id = g.thread)", "open gates"},
	{"SELECT DISTINCT m.thread FROM posthouse.marks m WHERE NOT EXISTS (SELECT FROM posthouse.threads t WHERE t.id = m.thread AND t.minute = m.minute)", "marks"},
}

// Check implements [posthouse.Checker]. Each log must chain and have the hashes it was
// written with; rows, summary and index must be what it says. Bodies are not read, which
// posthouse verify does. It sees each thread as it is at one moment, so writers may go on.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		for id, more := int64(0), true; more; {
			var t *threadCheck
			err := s.snapshot(ctx, func(ctx context.Context, c *conn) (err error) {
				t, err = c.checkThread(ctx, id)
				return err
			})
			if err == nil {
				more = t != nil
				if more {
					id = t.id
				} else {
					t = &threadCheck{}
					err = s.snapshot(ctx, t.strays)
				}
			}
			for _, found := range t.errors() {
				if !yield(found) {
					return
				}
			}
			if err != nil {
				yield(err)
				return
			}
		}
	}
}

// snapshot calls fn in a transaction that sees one moment and writes nothing.
func (s *Store) snapshot(ctx context.Context, fn func(context.Context, *conn) error) error {
	return away.Read(s.lend(ctx, "check", func(ctx context.Context, c *conn) error {
		o := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, c, o, func(pgx.Tx) error { return fn(ctx, c) })
	}))
}

// A threadCheck folds one thread's log and compares it with the thread's rows.
type threadCheck struct {
	id    int64
	name  string
	info  *posthouse.ThreadInfo // as it is stored; nil if it does not decode
	fold  posthouse.ThreadInfo  // as the log says, so far
	whole bool                  // the log begins at its first entry
	rows  map[posthouse.ID]*idRow
	// ids of the log that the index does not lead to, and how many removals attest
	missing map[posthouse.ID]bool
	removed int
	found   []error
}

type idRow struct {
	seq          int64
	coordination *int64
	order        []byte
	terms        []int64
	met          bool // its entry has the id
}

const maxFound = 100 // in one thread, which is enough for a broken one

func (t *threadCheck) errors() []error {
	if t == nil {
		return nil
	}
	return t.found
}

func (t *threadCheck) differs(format string, args ...any) {
	if len(t.found) < maxFound {
		t.found = append(t.found, posthouse.Corrupt(format, args...))
	}
}

// checkThread checks the first thread after a number. It returns nil at the end.
func (c *conn) checkThread(ctx context.Context, after int64) (*threadCheck, error) {
	t := &threadCheck{rows: map[posthouse.ID]*idRow{}, missing: map[posthouse.ID]bool{}}
	var name, hash, marks, state []byte
	var seq, minute, gates int64
	var due *int64
	var live bool
	found, err := c.one(ctx, checkThreads, []any{after}, &t.id, &name, &seq, &hash, &live, &due, &minute, &gates, &marks, &state)
	if err != nil || !found {
		return nil, err
	}
	t.name = string(name)
	t.info, err = readState(state)
	if err != nil {
		t.info = nil
		t.differs("the summary of thread %q cannot be read, and is made from its log each time: %v", t.name, err)
	} else {
		t.compareRow(posthouse.Position{Seq: uint64(seq), Hash: posthouse.Hash(slices.Grow(hash, 32)[:32])}, live, due, minute)
		if err := c.checkMarks(ctx, t, marks); err != nil {
			return t, err
		}
		if err := c.checkOpen(ctx, t, gates); err != nil {
			return t, err
		}
	}
	if err := c.readIDs(ctx, t); err != nil {
		return t, err
	}
	err = c.each(ctx, checkLog, []any{t.id}, func(rows pgx.Rows) error {
		e, _, err := scanEntry(rows, &name, true)
		if err == nil {
			err = t.visit(e)
		}
		if errors.Is(err, posthouse.ErrCorrupt) {
			t.found = append(t.found, err)
		}
		return err
	})
	if errors.Is(err, posthouse.ErrCorrupt) {
		return t, nil // what follows cannot be compared
	}
	t.compare()
	return t, err
}

func (c *conn) readIDs(ctx context.Context, t *threadCheck) error {
	return c.each(ctx, checkIDs, []any{t.id}, func(rows pgx.Rows) error {
		var id []byte
		r := &idRow{}
		err := rows.Scan(&id, &r.seq, &r.coordination, &r.order, &r.terms)
		t.rows[idOf(id)] = r
		return err
	})
}

// compareRow compares the columns of the thread's row with its summary.
func (t *threadCheck) compareRow(tail posthouse.Position, live bool, due *int64, minute int64) {
	if t.info.Thread != t.name {
		t.differs("thread %q has the summary of thread %q", t.name, t.info.Thread)
	}
	if tail != t.info.Tail {
		t.differs("appends to thread %q wait for entry %d, its summary ends at %d", t.name, tail.Seq, t.info.Tail.Seq)
	}
	want := dueOf(t.info)
	if live != isLive(t.info) || minute != int64(t.info.Minute()) || (due == nil) != (want == nil) || due != nil && *due != *want {
		t.differs("the columns of thread %q are not what its summary says", t.name)
	}
}

// checkOpen compares the rows of open gates with the summary.
func (c *conn) checkOpen(ctx context.Context, t *threadCheck, sum int64) error {
	gates := appendGates(nil, t.info.Waiting)
	want := map[string]bool{}
	for _, g := range gates {
		want[fmt.Sprintf("%d %s", g.list, g.id)] = true
	}
	if sumGates(gates) != sum {
		t.differs("the columns of thread %q are not what its summary says", t.name)
	}
	err := c.each(ctx, checkGates, []any{t.id}, func(rows pgx.Rows) error {
		var list int64
		var gate []byte
		err := rows.Scan(&list, &gate)
		if key := fmt.Sprintf("%d %s", list, gate); want[key] {
			delete(want, key)
		} else if err == nil {
			t.differs("the index of open gates has %q, which does not wait, or not for those it is listed for", gate)
		}
		return err
	})
	if len(want) > 0 {
		t.differs("gates of thread %q wait and are missing from the index of open gates", t.name)
	}
	return err
}

// checkMarks compares the thread's marks and their rows with the summary.
func (c *conn) checkMarks(ctx context.Context, t *threadCheck, have []byte) error {
	if !bytes.Equal(have, lists.AppendMarks(nil, t.info)) {
		t.differs("the marks of thread %q are not what its summary says", t.name)
	}
	for _, m := range lists.Marks(t.info) {
		var id int64
		if found, err := c.one(ctx, checkMark, []any{[]byte(m), int64(t.info.Minute()), []byte(t.name)}, &id); err != nil {
			return err
		} else if !found || id != t.id {
			t.differs("thread %q is missing from the list of mark %q", t.name, m)
		}
	}
	return nil
}

// visit folds one entry and follows the ids that it has.
func (t *threadCheck) visit(e *posthouse.Entry) error {
	if e.Sum() != e.Hash {
		return posthouse.Corrupt("entry %d of thread %q does not have the hash it was written with", e.Seq, e.Thread)
	}
	records, err := e.Records()
	if err != nil {
		return err
	}
	if t.fold.Tail.Seq == 0 {
		t.whole = e.Seq == 1
		if !t.whole { // what came before was removed
			t.fold = posthouse.ThreadInfo{Thread: t.name, Generation: e.Generation, Link: e.Prev}
			t.fold.Tail.Seq = e.Seq - 1
		}
	}
	if e.Seq > t.fold.Tail.Seq+1 {
		clear(t.missing) // the version that was dropped here may have had newer revisions
	}
	if err := t.fold.ApplyRecords(e, records); err != nil {
		return err
	}
	for i := range records {
		r := &records[i]
		if m := r.Removal; m != nil {
			t.removed += m.Count + m.Archived + len(m.Gates)
		}
		switch {
		case r.Checkpoint != nil:
			t.follow(e, r.Checkpoint.ID, r.Checkpoint)
		case r.Gate != nil:
			t.follow(e, r.Gate.ID, nil)
		case r.Signal != nil:
			t.follow(e, r.Signal.ID, nil)
		case r.Decision != nil:
			if row := t.rows[r.Decision.Gate]; row != nil && row.seq == int64(e.Seq) {
				row.met = true
			}
		}
	}
	return nil
}

// follow looks at the index for an id that an entry brought.
func (t *threadCheck) follow(e *posthouse.Entry, id posthouse.ID, h *posthouse.Header) {
	row := t.rows[id]
	switch {
	case row == nil:
		t.missing[id] = true
		return
	case row.seq < int64(e.Seq):
		t.differs("the index leads from %q of thread %q to entry %d, which is older than entry %d", id, t.name, row.seq, e.Seq)
	}
	delete(t.missing, id)
	if row.seq != int64(e.Seq) {
		return
	}
	row.met = true
	if h == nil {
		return
	}
	if !bytes.Equal(row.order, h.Order[:]) || row.coordination == nil || *row.coordination != terms.Hash(h.Coordination) ||
		!slices.Equal(row.terms, terms.Of(h)) {
		t.differs("the index has checkpoint %q of thread %q with other fields than entry %d", id, t.name, e.Seq)
	}
}

// compare compares the summary and the index with the log.
func (t *threadCheck) compare() {
	for id, row := range t.rows {
		if !row.met {
			t.differs("the index leads from %q to entry %d of thread %q, which does not have it", id, row.seq, t.name)
		}
	}
	if t.info == nil || t.fold.Tail.Seq == 0 {
		return // all entries were removed
	}
	if t.fold.Tail != t.info.Tail {
		if t.whole || t.fold.Tail.Seq >= t.info.Tail.Seq {
			t.differs("the summary of thread %q ends at entry %d, its log at %d", t.name, t.info.Tail.Seq, t.fold.Tail.Seq)
		}
		return
	}
	if !t.whole {
		return
	}
	if !lists.Same(t.info, &t.fold) {
		t.differs("the summary of thread %q is not what its log says", t.name)
	}
	if len(t.missing) > t.removed {
		ids := slices.Sorted(maps.Keys(t.missing))
		t.differs("%d checkpoints and gates of thread %q were removed, but the index does not lead to %d: %q",
			t.removed, t.name, len(ids), ids[:min(len(ids), 5)])
	}
}

// strays reports rows that belong to no thread.
func (t *threadCheck) strays(ctx context.Context, c *conn) error {
	for _, q := range strays {
		if err := c.each(ctx, q.sql, nil, func(rows pgx.Rows) error {
			var id int64
			err := rows.Scan(&id)
			t.differs("%s of thread number %d belong to no thread", q.what, id)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
