package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/valid"
)

const (
	dropSlots   = "DELETE FROM posthouse.slots WHERE thread = $1"
	lockThread  = "SELECT id FROM posthouse.threads WHERE name = $1 FOR UPDATE"
	dropThread  = "DELETE FROM posthouse.threads WHERE id = $1"
	dropGates   = "DELETE FROM posthouse.gates WHERE thread = $1"
	dropIDs     = "DELETE FROM posthouse.ids WHERE thread = $1 AND seq >= $2 AND seq < $3"
	dropEntries = `WITH d AS (
			DELETE FROM posthouse.entries WHERE thread = $1 AND seq >= $2 AND seq < $3
			RETURNING kept, octet_length(header) + coalesce(octet_length(sig), 0) + coalesce(octet_length(bodies), 0) AS size
		) SELECT count(*), coalesce(sum(kept), 0)::bigint, coalesce(sum(size), 0)::bigint FROM d`
	lockEntry = "SELECT " + entryColumns + ", e.gone, e.bodies FROM posthouse.entries e WHERE e.thread = $1 AND e.seq = $2 FOR UPDATE"
	setBodies = "UPDATE posthouse.entries SET kept = $3, gone = $4, bodies = $5 WHERE thread = $1 AND seq = $2"
)

// Remove implements [posthouse.Store]. The server frees removed bytes when it vacuums the
// tables. It keeps them in its write-ahead log and its archive for as long as it keeps
// those.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return done, err
	}
	if r.Thread == "" {
		return done, posthouse.Invalid("thread", "is empty")
	}
	doing := fmt.Sprintf("remove from thread %q", r.Thread)
	for wait := newRetries(); ; {
		race := false
		err = s.lend(ctx, doing, func(ctx context.Context, c *conn) error {
			done = posthouse.Removed{}
			err := pgx.BeginFunc(ctx, c, func(pgx.Tx) error { return c.remove(ctx, &r, &done) })
			race, _ = isRace(err)
			return err
		})
		if !race || !wait.Next(ctx) {
			break
		}
	}
	if err != nil {
		s.poison(err)
		return posthouse.Removed{}, err
	}
	return done, nil
}

// remove takes the thread's row first, as an append does.
func (c *conn) remove(ctx context.Context, r *posthouse.Removal, done *posthouse.Removed) error {
	if r.All { // slots may exist without a log
		if err := c.exec(ctx, dropSlots, []byte(r.Thread)); err != nil {
			return err
		}
	}
	var id int64
	switch found, err := c.one(ctx, lockThread, []any{[]byte(r.Thread)}, &id); {
	case err != nil || !found:
		return err
	case r.All:
		if err := c.removeEntries(ctx, id, 0, valid.MaxSeq, done); err != nil {
			return err
		}
		if err := c.exec(ctx, dropGates, id); err != nil {
			return err
		}
		return c.exec(ctx, dropThread, id)
	case r.Below > 0:
		return c.removeEntries(ctx, id, min(r.From, valid.MaxSeq), min(r.Below, valid.MaxSeq), done)
	}
	bySeq := map[uint64][]int{}
	for _, ref := range r.Bodies {
		bySeq[ref.Seq] = append(bySeq[ref.Seq], ref.Record)
	}
	for seq, records := range bySeq {
		if seq > valid.MaxSeq {
			continue
		}
		if err := c.removeBodies(ctx, id, r.Thread, seq, records, done); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) exec(ctx context.Context, sql string, args ...any) error {
	_, err := c.Exec(ctx, c.s.sql(sql), args...)
	return err
}

// removeEntries removes entries and the ids that lead to them.
func (c *conn) removeEntries(ctx context.Context, id int64, from, below uint64, done *posthouse.Removed) error {
	args := []any{id, int64(from), int64(below)}
	var entries, kept int64
	if _, err := c.one(ctx, dropEntries, args, &entries, &kept, &done.Bytes); err != nil {
		return err
	}
	done.Entries, done.Bodies = int(entries), int(kept)
	return c.exec(ctx, dropIDs, args...)
}

// removeBodies removes bodies of one entry.
func (c *conn) removeBodies(ctx context.Context, id int64, thread string, seq uint64, records []int, done *posthouse.Removed) error {
	var e *posthouse.Entry
	var gone bodies.Gone
	name := []byte(thread)
	err := c.each(ctx, lockEntry, []any{id, int64(seq)}, func(rows pgx.Rows) (err error) {
		var joined []byte
		e, _, err = scanEntry(rows, &name, true, (*[]byte)(&gone), &joined)
		if err != nil {
			return err
		}
		return bodies.Split(e, joined, gone)
	})
	if err != nil || e == nil {
		return err
	}
	cut := false
	for i, body := range e.Bodies {
		if body == nil || !slices.Contains(records, i) {
			continue
		}
		done.Bodies++
		done.Bytes += int64(len(body))
		gone.Set(i)
		e.Bodies[i], cut = nil, true
	}
	if !cut {
		return nil
	}
	joined, kept := bodies.Join(e.Bodies)
	return c.exec(ctx, setBodies, id, int64(seq), int32(kept), nonEmpty(gone), nonEmpty(joined))
}
