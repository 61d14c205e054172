package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/pgstore/internal/wire"
)

// A request is an append that waits for a transaction. The last request of [Store.Close]
// has no batch.
type request struct {
	row  row
	lost bool  // an attempt before this one may have been committed
	err  error // what the server said, once the transaction is committed
}

// A lane commits groups of requests, one group at a time.
type lane struct {
	*groupcommit.Queue[*request]
	requests []*request
	args     wire.Args
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
	if r.row.batch == nil {
		return 1
	}
	size := 0
	for _, body := range r.row.batch.Entry.Bodies {
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
	r := s.requests.Get().(*request)
	err := r.row.set(b)
	if err == nil {
		err = s.lanes[maphash.String(s.seed, b.Entry.Thread)%lanes].Do(ctx, r)
	}
	if errors.Is(err, groupcommit.ErrAborted) {
		return s.unreachable("append", err)
	}
	s.free(r)
	return err
}

// commit runs one group in one transaction. A lane never calls it twice at once.
func (s *Store) commit(l *lane, group []*groupcommit.Call[*request]) {
	if s.lifecycle.Closed() {
		for _, call := range group {
			call.Err = s.lifecycle.ClosedError()
		}
		return
	}
	requests := l.requests[:0]
	for _, call := range group {
		requests = append(requests, call.Work)
	}
	l.requests = requests
	defer clear(requests)
	// Transactions that lock threads in one order do not wait for each other in a circle.
	slices.SortStableFunc(requests, func(a, b *request) int {
		return cmp.Compare(a.row.batch.Entry.Thread, b.row.batch.Entry.Thread)
	})
	// Callers cannot take back what is being committed, so no context of theirs ends it.
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Timeout)
	defer cancel()
	err := s.retryUnknown(ctx, func(ctx context.Context, c *conn, careful, lost bool) error {
		for _, r := range requests {
			r.lost = lost
		}
		return c.appendGroup(ctx, &l.args, requests, careful)
	})
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
// do so because an append that is there already succeeds. lost says that an earlier attempt may
// have been committed. An error is for all of fn:
// nothing was written, unless it is [posthouse.ErrUnknown].
func (s *Store) retryUnknown(ctx context.Context, fn func(ctx context.Context, c *conn, careful, lost bool) error) error {
	careful, lost := false, false
	for wait := newRetries(); ; {
		var race, ids bool
		err := s.lend(ctx, "append", func(ctx context.Context, c *conn) error {
			err := fn(ctx, c, careful, lost)
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
func (c *conn) appendGroup(ctx context.Context, a *wire.Args, requests []*request, careful bool) error {
	n := inOneCall(requests, careful)
	if n < len(requests) {
		return c.appendCalls(ctx, a, requests, careful)
	}
	sql := c.write(a, requests, careful)
	statement, err := c.prepared(ctx, sql)
	if err != nil {
		return err
	}
	var results *pgconn.ResultReader
	if statement != nil {
		results = c.server().ExecStatement(ctx, statement, a.Encoded(), binaryFormat, binaryFormat)
	} else {
		results = c.server().ExecParams(ctx, sql, a.Encoded(), a.Types(), binaryFormat, binaryFormat)
	}
	readAnswers(requests, results)
	_, err = results.Close()
	return err
}

// appendCalls is appendGroup for more than one call.
func (c *conn) appendCalls(ctx context.Context, a *wire.Args, requests []*request, careful bool) error {
	var batch pgconn.Batch
	for rest := requests; len(rest) > 0; {
		now := rest[:inOneCall(rest, careful)]
		rest = rest[len(now):]
		sql := c.write(a, now, careful)
		statement, err := c.prepared(ctx, sql)
		switch {
		case err != nil:
			return err
		case statement != nil:
			batch.ExecStatement(statement, a.Encoded(), binaryFormat, binaryFormat)
		default:
			batch.ExecParams(sql, a.Encoded(), a.Types(), binaryFormat, binaryFormat)
		}
	}
	results := c.server().ExecBatch(ctx, &batch)
	for rest := requests; len(rest) > 0 && results.NextResult(); {
		now := rest[:inOneCall(rest, careful)]
		rest = rest[len(now):]
		readAnswers(now, results.ResultReader())
	}
	return results.Close()
}

// binaryFormat is the format of all arguments and results.
var binaryFormat = []int16{1}

// inOneCall returns how many of the first requests are one call.
func inOneCall(requests []*request, careful bool) int {
	n := 1
	for !careful && n < len(requests) && requests[n-1].isPlain() && requests[n].isPlain() &&
		requests[n].row.batch.Entry.Thread != requests[n-1].row.batch.Entry.Thread {
		n++
	}
	return n
}

// isPlain reports whether callAppendMany is made for the request: it has few open gates.
func (r *request) isPlain() bool { return len(r.row.gates) <= 64 }

// write writes the arguments of a call and returns its statement.
func (c *conn) write(a *wire.Args, requests []*request, careful bool) string {
	a.Reset()
	if len(requests) == 1 {
		writeOne(a, &requests[0].row, careful)
		return c.s.sql(callAppend)
	}
	writeMany(a, requests)
	return c.s.sql(callAppendMany)
}

// server is the connection without what the driver does for arguments and results.
func (c *conn) server() *pgconn.PgConn { return c.Conn.Conn().PgConn() }

// prepared returns a statement that the connection has prepared. It is nil where statements may not be prepared.
func (c *conn) prepared(ctx context.Context, sql string) (*pgconn.StatementDescription, error) {
	if c.s.unprepared {
		return nil, nil
	}
	return c.Conn.Conn().Prepare(ctx, sql, sql)
}

// readAnswers reads what a call returned. An error is told by whoever closes the results.
func readAnswers(requests []*request, results *pgconn.ResultReader) {
	for _, r := range requests {
		r.err = nil
	}
	for results.NextRow() {
		values := results.Values()
		if len(requests) == 1 {
			requests[0].answer(values)
			continue
		}
		requests[wire.Int(values[0])-1].refuse(int(wire.Int(values[1])), values[2], values[3])
	}
}

// refuse sets the error for a log that does not end where the append expects it.
func (r *request) refuse(status int, seq, hash []byte) {
	if status != conflicts && !(status == alreadyThere && r.row.batch.First && !r.lost) {
		return
	}
	tail := posthouse.Position{Seq: uint64(wire.Int(seq))}
	copy(tail.Hash[:], hash)
	r.err = valid.Conflict(r.row.batch, tail)
}

// answer reads the row that callAppend returned.
func (r *request) answer(values [][]byte) {
	status, taken, thread := int(wire.Int(values[0])), values[3], values[4]
	r.refuse(status, values[1], values[2])
	if status == isTaken {
		e := &posthouse.Error{
			Code: posthouse.CodeExists, Hint: "choose another id",
			Message: fmt.Sprintf("%q is already entry %d of thread %q", idOf(taken), wire.Int(values[5]), thread),
		}
		if string(thread) == r.row.batch.Entry.Thread {
			e.Hint = "choose another id, or save with Replace"
		}
		r.err = e
	}
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
		requests[i] = s.requests.Get().(*request)
		if err := requests[i].row.set(b); err != nil {
			return err
		}
	}
	var a wire.Args
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	err := s.retryUnknown(within, func(ctx context.Context, c *conn, careful, lost bool) error {
		for _, r := range requests {
			r.lost = lost
		}
		return pgx.BeginFunc(ctx, c, func(pgx.Tx) error {
			if err := c.appendGroup(ctx, &a, requests, careful); err != nil {
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
	for _, r := range requests {
		s.free(r)
	}
	return err
}

// free lets another append use a request.
func (s *Store) free(r *request) {
	r.row.forget()
	r.lost, r.err = false, nil
	s.requests.Put(r)
}
