package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/pgstore/internal/wire"
)

// ListStatement returns the statement of a query, with its arguments.
func (s *Store) ListStatement(q posthouse.Query, n int) (string, []any) {
	at, err := startOf(&q)
	if err != nil {
		panic(err)
	}
	sql, args := (&listing{Query: q, at: at}).build(n)
	return s.sql(sql), args
}

func (s *Store) ThreadsStatement(q posthouse.ThreadQuery, n int) (string, []any) {
	w := &threadWalk{ThreadQuery: q}
	if err := w.start(); err != nil {
		panic(err)
	}
	sql, args := w.build(n)
	if q.Gates {
		sql, args = (&gateWalk{ThreadQuery: q}).build(n)
	}
	return s.sql(sql), args
}

func (s *Store) SetStatement(q posthouse.ThreadQuery) (string, []any) {
	set := lists.Sets(&q)[0]
	sql, args := buildSet(&set)
	return s.sql(sql), args
}

func (s *Store) ReadStatement(thread string, r posthouse.Range, n int64) (string, []any) {
	args := []any{[]byte(thread), int64(r.From), int64(r.To), n}
	return s.sql(rangeOf(&r)), args
}

func (s *Store) PlacesStatement(refs []posthouse.Ref) (string, []any) {
	return s.sql(placesOf(len(refs), true)), placeArgs(refs)
}

func (s *Store) WatchStatement(watch int64) (string, []any) {
	return s.sql(watchNext), []any{watch, int64(0), int64(0), int64(64)}
}

// AppendWithin appends a batch in a transaction of the test's own and returns the status.
func (s *Store) AppendWithin(ctx context.Context, c *pgx.Conn, b *posthouse.Batch) (int, error) {
	var r row
	if err := r.set(b); err != nil {
		return 0, err
	}
	var a wire.Args
	a.Reset()
	writeOne(&a, &r, false)
	result := c.PgConn().ExecParams(ctx, s.sql(callAppend), a.Encoded(), a.Types(), binaryFormat, binaryFormat).Read()
	if result.Err != nil {
		return 0, result.Err
	}
	return int(wire.Int(result.Rows[0][0])), nil
}

// AppendTogether appends batches that arrived at the same time, with a lane of their own.
func (s *Store) AppendTogether(l *Lane, batches []*posthouse.Batch) error {
	l.calls = l.calls[:0]
	for _, b := range batches {
		r := s.requests.Get().(*request)
		if err := r.row.set(b); err != nil {
			return err
		}
		l.calls = append(l.calls, &groupcommit.Call[*request]{Work: r})
	}
	s.commit(&l.lane, l.calls)
	for _, call := range l.calls {
		if call.Err != nil {
			return call.Err
		}
		s.free(call.Work)
	}
	return nil
}

// A Lane is what AppendTogether uses again.
type Lane struct {
	lane  lane
	calls []*groupcommit.Call[*request]
}
