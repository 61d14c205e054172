package pgstore

import (
	"fmt"

	"github.com/posthouse/posthouse"
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
	sql, args := (&threadWalk{ThreadQuery: q}).build(n)
	if q.Gates {
		sql, args = (&gateWalk{ThreadQuery: q}).build(n)
	}
	return s.sql(sql), args
}

func (s *Store) ReadStatement(thread string, r posthouse.Range, n int64) (string, []any) {
	args := []any{[]byte(thread), int64(r.From), int64(r.To), n}
	if r.Seqs != nil {
		seqs := make([]int64, len(r.Seqs))
		for i, seq := range r.Seqs {
			seqs[i] = int64(seq)
		}
		args = []any{[]byte(thread), seqs}
	}
	return s.sql(rangeOf(&r)), args
}

func (s *Store) WatchStatement(watch int64) (string, []any) {
	return s.sql(watchNext), []any{watch, int64(0), int64(0), int64(64)}
}

// AppendStatement is the call by which a batch is appended.
func (s *Store) AppendStatement(b *posthouse.Batch) (string, []any) {
	r, err := rowOf(b)
	if err != nil {
		panic(fmt.Sprint("a batch that does not encode: ", err))
	}
	return s.sql(callAppend), r.arguments(false)
}
