package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A request is an append that waits for a transaction.
type request struct {
	batch *posthouse.Batch
	row   *row
	err   error // what the server said, once the transaction is committed
}

// lanes is how many groups a process commits at once. A thread is always in the same lane.
// While the server works on one group the process encodes another, and the server
// uses a second core. More lanes make smaller groups.
const lanes = 2

// The cost of a group is bounded. Its first caller does not wait for megabytes of others,
// and of a thousand callers some compute while others commit.
const (
	maxGroupCost = 1024
	bytesPerCost = 16 << 10
)

func (r *request) cost() int {
	if r.batch == nil {
		return 1
	}
	size := 0
	for _, body := range r.batch.Entry.Bodies {
		size += len(body)
	}
	return 1 + size/bytesPerCost
}

// Append implements [posthouse.Store]. Appends that wait at the same time share one of two
// transactions; a refused one does not fail the others. Where the connection is lost it
// asks again with another, and fails with [posthouse.ErrUnknown] after Options.Timeout, or
// twice that if it waits for others first.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	if err := valid.Batch(b); err != nil {
		return err
	}
	row, err := rowOf(b)
	if err != nil {
		return err
	}
	lane := s.lanes[maphash.String(s.seed, b.Entry.Thread)%lanes]
	err = lane.Do(ctx, &request{batch: b, row: row})
	if errors.Is(err, groupcommit.ErrAborted) {
		return s.unreachable("append", err)
	}
	return err
}

// commit runs one group in one transaction. A lane never calls it twice at once.
func (s *Store) commit(group []*groupcommit.Call[*request]) {
	if s.lifecycle.Closed() {
		for _, call := range group {
			call.Err = s.lifecycle.ClosedError()
		}
		return
	}
	requests := make([]*request, len(group))
	for i, call := range group {
		requests[i] = call.Work
	}
	// Transactions that lock threads in one order do not wait for each other in a circle.
	slices.SortStableFunc(requests, func(a, b *request) int {
		return cmp.Compare(a.batch.Entry.Thread, b.batch.Entry.Thread)
	})
	// Callers cannot take back what is being committed, so no context of theirs ends it.
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Timeout)
	defer cancel()
	err := s.retryUnknown(ctx, func(ctx context.Context, c *conn, careful bool) error { return c.appendGroup(ctx, requests, careful) })
	for _, call := range group {
		call.Err = cmp.Or(err, call.Work.err)
	}
	s.wrote(err)
}

// wrote tells watchers of what was committed.
func (s *Store) wrote(err error) {
	if err == nil {
		s.news.Tell()
		s.bell.ring()
	}
}

// retryUnknown calls fn with a connection until its transaction is committed or refused. It may
// do so because an append that is there already succeeds. An error is for all of fn:
// nothing was written, unless it is [posthouse.ErrUnknown].
func (s *Store) retryUnknown(ctx context.Context, fn func(ctx context.Context, c *conn, careful bool) error) error {
	careful, lost := false, false
	for wait := newRetries(); ; {
		var race, ids bool
		err := s.lend(ctx, "append", func(ctx context.Context, c *conn) error {
			err := fn(ctx, c, careful)
			race, ids = isRace(err)
			return err
		})
		careful = careful || ids
		switch {
		case err == nil:
			return nil
		case race && (ids || wait.Next(ctx)):
			continue
		case isDemoted(err) && wait.Tries < 3 && wait.Next(ctx):
			s.pool.Reset()
			continue
		case lost && errors.Is(err, posthouse.ErrClosed): // it may have been committed
			return s.unreachable("append", err)
		case isLost(err) && wait.Next(ctx):
			lost = true
			s.opts.Logger.Warn("posthouse: asking Postgres again about an append", "store", s.where, "err", err)
			continue
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), race:
			return s.unreachable("append", err)
		}
		s.poison(err)
		return err
	}
}

// appendGroup sends all requests at once, which makes them one transaction. Those of
// different threads are one call, unless that has met an id that is taken.
func (c *conn) appendGroup(ctx context.Context, requests []*request, careful bool) error {
	var batch pgx.Batch
	var readers []func(pgx.BatchResults) error
	for len(requests) > 0 {
		n := 1
		for !careful && n < len(requests) && requests[n-1].isPlain() && requests[n].isPlain() &&
			requests[n].batch.Entry.Thread != requests[n-1].batch.Entry.Thread {
			n++
		}
		now := requests[:n]
		requests = requests[n:]
		if n == 1 {
			batch.Queue(c.s.sql(callAppend), now[0].row.arguments(careful)...)
			readers = append(readers, func(results pgx.BatchResults) error { return now[0].answer(results.QueryRow()) })
			continue
		}
		batch.Queue(c.s.sql(callAppendMany), argumentsOfMany(now)...)
		readers = append(readers, func(results pgx.BatchResults) error { return answerMany(now, results) })
	}
	results := c.SendBatch(ctx, &batch)
	for _, read := range readers {
		if err := read(results); err != nil {
			_ = results.Close() // it says the same
			return err
		}
	}
	return results.Close()
}

// isPlain reports whether callAppendMany is made for the request: it has few open gates.
func (r *request) isPlain() bool { return len(r.row.gateLists) <= 64 }

// answerMany reads what callAppendMany returned.
func answerMany(requests []*request, results pgx.BatchResults) error {
	for _, r := range requests {
		r.err = nil
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n, status int32
		var seq *int64
		var hash []byte
		if err := rows.Scan(&n, &status, &seq, &hash); err != nil {
			return err
		}
		requests[n-1].refuse(status, seq, hash)
	}
	return rows.Err()
}

// refuse sets the error for a log that does not end where the append expects it.
func (r *request) refuse(status int32, seq *int64, hash []byte) {
	if status != conflicts {
		return
	}
	var tail posthouse.Position
	if seq != nil {
		tail.Seq = uint64(*seq)
		copy(tail.Hash[:], hash)
	}
	r.err = valid.Conflict(r.batch, tail)
}

// answer reads what callAppend returned.
func (r *request) answer(row pgx.Row) error {
	var status int32
	var seq, takenSeq *int64
	var hash, id, thread []byte
	if err := row.Scan(&status, &seq, &hash, &id, &thread, &takenSeq); err != nil {
		return err
	}
	r.err = nil
	switch status {
	case conflicts:
		r.refuse(status, seq, hash)
	case isTaken:
		e := &posthouse.Error{
			Code: posthouse.CodeExists, Hint: "choose another id",
			Message: fmt.Sprintf("%q is already entry %d of thread %q", idOf(id), *takenSeq, thread),
		}
		if bytes.Equal(thread, []byte(r.batch.Entry.Thread)) {
			e.Hint = "choose another id, or save with Replace"
		}
		r.err = e
	}
	return nil
}

// AppendAll implements [posthouse.BulkAppender], with one transaction of its own.
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	if err := valid.Batches(bs); err != nil || len(bs) == 0 {
		return err
	}
	requests := make([]*request, len(bs))
	for i, b := range bs {
		row, err := rowOf(b)
		if err != nil {
			return err
		}
		requests[i] = &request{batch: b, row: row}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	err := s.retryUnknown(within, func(ctx context.Context, c *conn, careful bool) error {
		return pgx.BeginFunc(ctx, c, func(pgx.Tx) error {
			if err := c.appendGroup(ctx, requests, careful); err != nil {
				return err
			}
			for _, r := range requests {
				if r.err != nil {
					return r.err // and nothing is written
				}
			}
			return nil
		})
	})
	s.wrote(err)
	return err
}
