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

// ofThread is the number of the thread that the first argument names.
const ofThread = "(SELECT t.id FROM posthouse.threads t WHERE t.name = $1)"

// rangeOf returns the statement that reads a range. Its arguments are the thread's name, the
// bounds or numbers, and a limit.
func rangeOf(r *posthouse.Range) string {
	columns := entryColumns
	if !r.Headers {
		columns += ", e.gone, e.bodies"
	}
	switch {
	case r.Seqs != nil:
		return "SELECT " + columns + " FROM unnest($2::bigint[]) WITH ORDINALITY AS s(seq, n) JOIN posthouse.entries e ON e.thread = " +
			ofThread + " AND e.seq = s.seq ORDER BY s.n"
	case r.Reverse:
		return "SELECT " + columns + " FROM posthouse.entries e WHERE e.thread = " + ofThread +
			" AND e.seq BETWEEN $2 AND $3 ORDER BY e.seq DESC LIMIT $4"
	}
	return "SELECT " + columns + " FROM posthouse.entries e WHERE e.thread = " + ofThread +
		" AND e.seq BETWEEN $2 AND $3 ORDER BY e.seq LIMIT $4"
}

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
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
	if r.Seqs == nil && r.From > r.To {
		return nil, false, s.lifecycle.Usable(ctx)
	}
	n := p.Next(left)
	args := []any{[]byte(thread), int64(r.From), int64(r.To), int64(n)}
	if r.Seqs != nil {
		n = p.Next(len(r.Seqs))
		seqs := make([]int64, 0, n)
		for _, seq := range r.Seqs[:n] {
			if seq <= valid.MaxSeq {
				seqs = append(seqs, int64(seq))
			}
		}
		args = []any{[]byte(thread), seqs}
	}
	size, name := 0, []byte(thread)
	err = s.read(ctx, fmt.Sprintf("read thread %q", thread), func(ctx context.Context, c *conn) error {
		page, size = nil, 0
		return c.each(ctx, rangeOf(r), args, func(rows pgx.Rows) error {
			e, bytes, err := scanEntry(rows, &name, r.Headers)
			if err != nil {
				return err
			}
			page, size = append(page, e), size+bytes
			return nil
		})
	})
	p.Took(size)
	if err != nil {
		return page, false, err
	}
	if r.Seqs != nil {
		r.Seqs = r.Seqs[n:]
		return page, len(r.Seqs) > 0, nil
	}
	more = len(page) == n
	if more {
		if last := page[n-1].Seq; r.Reverse {
			r.To = last - 1
			more = last > 0
		} else {
			r.From = last + 1
		}
	}
	return page, more, nil
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
