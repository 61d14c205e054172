package pgstore

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/pgstore/internal/paging"
)

const entryColumns = "e.seq, e.generation, e.prev, e.hash, e.sig, e.header"

func columnsOf(headers bool) string {
	if headers {
		return entryColumns
	}
	return entryColumns + ", e.gone, e.bodies"
}

// rangeOf returns the statement that reads a range. Its arguments are the thread's name, the
// bounds, and a limit.
func rangeOf(r *posthouse.Range) string {
	direction := ""
	if r.Reverse {
		direction = " DESC"
	}
	return "SELECT " + columnsOf(r.Headers) + " FROM posthouse.entries e WHERE e.thread = (SELECT t.id FROM posthouse.threads t WHERE t.name = $1)" +
		" AND e.seq BETWEEN $2 AND $3 ORDER BY e.seq" + direction + " LIMIT $4"
}

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	if r.Seqs != nil {
		refs := make([]posthouse.Ref, len(r.Seqs))
		for i, seq := range r.Seqs {
			refs[i] = posthouse.Ref{Thread: thread, Seq: seq}
		}
		return s.readPlaces(ctx, refs, r.Headers, r.Limit)
	}
	if r.To == 0 || r.To > valid.MaxSeq {
		r.To = valid.MaxSeq
	}
	return func(yield func(*posthouse.Entry, error) bool) {
		at, p := r, paging.Pace{}
		for e, err := range paging.All(r.Limit, func(left int) ([]*posthouse.Entry, bool, error) {
			return s.readPage(ctx, thread, &at, &p, left)
		}) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// readPage reads a page and moves the range past it.
func (s *Store) readPage(ctx context.Context, thread string, r *posthouse.Range, p *paging.Pace, left int) (page []*posthouse.Entry, more bool, err error) {
	if r.From > r.To {
		return nil, false, s.lifecycle.Usable(ctx)
	}
	n := p.Next(left)
	args := []any{[]byte(thread), int64(r.From), int64(r.To), int64(n)}
	page, size, err := s.entries(ctx, thread, rangeOf(r), args, r.Headers, false)
	p.Took(size)
	more = err == nil && len(page) == n
	if more {
		if last := page[n-1].Seq; r.Reverse {
			r.To = last - 1
			more = last > 0
		} else {
			r.From = last + 1
		}
	}
	return page, more, err
}

// ReadAll implements [lists.BulkReader], with one statement for many threads.
func (s *Store) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	return s.readPlaces(ctx, refs, headers, 0)
}

func (s *Store) readPlaces(ctx context.Context, refs []posthouse.Ref, headers bool, limit int) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		left, p := refs, paging.Pace{}
		if headers {
			p = paging.For(len(refs))
		}
		for e, err := range paging.All(limit, func(int) (page []*posthouse.Entry, more bool, err error) {
			n := p.Next(len(left))
			page, size, err := s.placesPage(ctx, left[:n], headers)
			p.Took(size)
			left = left[n:]
			return page, len(left) > 0, err
		}) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// placesOf returns the statement that reads n entries, by the names of their threads and their numbers.
//
// It says how many: the planner takes an array for one of ten, finds the plan for the few at hand
// cheaper than the one it has, and plans again with each call, which takes longer than to read.
func placesOf(n int, headers bool) string {
	most := paging.MaxRows
	for _, few := range []int{4, 2, 1} {
		if n <= few {
			most = few
		}
	}
	return fmt.Sprintf("SELECT %s, s.name FROM (SELECT * FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY LIMIT %d) AS s(name, seq, n)"+
		" CROSS JOIN LATERAL (SELECT * FROM posthouse.entries e WHERE e.thread = (SELECT t.id FROM posthouse.threads t WHERE t.name = s.name)"+
		" AND e.seq = s.seq OFFSET 0) e ORDER BY s.n", columnsOf(headers), most)
}

func placeArgs(refs []posthouse.Ref) []any {
	names, seqs := make([][]byte, 0, len(refs)), make([]int64, 0, len(refs))
	for _, r := range refs {
		if r.Seq <= valid.MaxSeq {
			names, seqs = append(names, []byte(r.Thread)), append(seqs, int64(r.Seq))
		}
	}
	return []any{names, seqs}
}

func (s *Store) placesPage(ctx context.Context, refs []posthouse.Ref, headers bool) (page []*posthouse.Entry, size int, err error) {
	if len(refs) == 0 {
		return nil, 0, s.lifecycle.Usable(ctx)
	}
	return s.entries(ctx, refs[0].Thread, placesOf(len(refs), headers), placeArgs(refs), headers, true)
}

// entries reads rows of one thread. If named, the last column has the thread's name, which may be another.
func (s *Store) entries(ctx context.Context, thread, sql string, args []any, headers, named bool) (page []*posthouse.Entry, size int, err error) {
	name := []byte(thread)
	var more []any
	if named {
		more = append(more, &name)
	}
	err = s.read(ctx, fmt.Sprintf("read thread %q", thread), func(ctx context.Context, c *conn) error {
		page, size = nil, 0
		return c.each(ctx, sql, args, func(rows pgx.Rows) error {
			e, bytes, err := scanEntry(rows, &name, headers, more...)
			if err != nil {
				return err
			}
			page, size = append(page, e), size+bytes
			return nil
		})
	})
	return page, size, err
}

// scanEntry reads the columns of rangeOf, and more columns after them. The thread's name
// may be among those.
func scanEntry(rows pgx.Rows, thread *[]byte, headers bool, more ...any) (e *posthouse.Entry, size int, err error) {
	e = &posthouse.Entry{}
	var seq, generation int64
	var prev, hash, gone, joined []byte
	into := []any{&seq, &generation, &prev, &hash, &e.Sig, &e.Header}
	if !headers {
		into = append(into, &gone, &joined)
	}
	if err := rows.Scan(append(into, more...)...); err != nil {
		return nil, 0, err
	}
	e.Thread, e.Seq, e.Generation = string(*thread), uint64(seq), uint32(generation)
	if len(hash) != len(e.Hash) || prev != nil && len(prev) != len(e.Prev) {
		return nil, 0, posthouse.Corrupt("entry %d of thread %q has no hash", seq, e.Thread)
	}
	copy(e.Hash[:], hash)
	copy(e.Prev[:], prev)
	if !headers {
		err = bodies.Split(e, joined, gone)
	}
	return e, len(e.Header) + len(joined), err
}

const selectPlace = "SELECT t.name, i.seq FROM posthouse.ids i JOIN posthouse.threads t ON t.id = i.thread WHERE i.id = $1"

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (ref posthouse.Ref, err error) {
	err = s.read(ctx, fmt.Sprintf("find %q", id), func(ctx context.Context, c *conn) error {
		var thread []byte
		var seq int64
		found, err := c.one(ctx, selectPlace, []any{keyOf(id)}, &thread, &seq)
		if err == nil && !found {
			err = posthouse.NotFound("checkpoint or gate", id)
		}
		ref = posthouse.Ref{Thread: string(thread), Seq: uint64(seq)}
		return err
	})
	if err != nil {
		return posthouse.Ref{}, err
	}
	return ref, nil
}

// fold makes a summary from a log, up to its entry at to.
func (c *conn) fold(ctx context.Context, thread string, to uint64) (*posthouse.ThreadInfo, error) {
	info, name := &posthouse.ThreadInfo{Thread: thread}, []byte(thread)
	for from := uint64(0); from <= to; {
		r := posthouse.Range{Headers: true}
		n := 0
		err := c.each(ctx, rangeOf(&r), []any{name, int64(from), int64(to), int64(paging.MaxRows)}, func(rows pgx.Rows) error {
			e, _, err := scanEntry(rows, &name, true)
			if err == nil {
				err = info.Apply(e)
			}
			if err == nil {
				n, from = n+1, e.Seq+1
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if n < paging.MaxRows {
			break
		}
	}
	if info.Tail.Seq == 0 {
		return nil, posthouse.Corrupt("the summary of thread %q does not decode, and its log is gone", thread)
	}
	info.Waiting = slices.Clip(info.Waiting)
	return info, nil
}
