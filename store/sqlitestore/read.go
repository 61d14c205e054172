package sqlitestore

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	doing := fmt.Sprintf("read thread %q", thread)
	if r.To == 0 || r.To > maxSeq {
		r.To = maxSeq
	}
	return pages(ctx, s, doing, r.Limit, func(c *conn, p *page[*posthouse.Entry]) (bool, error) {
		if r.Seqs != nil {
			return s.readSeqs(ctx, c, p, thread, &r)
		}
		return s.readRange(ctx, c, p, thread, &r)
	})
}

const maxSeq = 1<<63 - 1

// readRange reads a page and moves the range on.
func (s *Store) readRange(ctx context.Context, c *conn, p *page[*posthouse.Entry], thread string, r *posthouse.Range) (more bool, err error) {
	if r.From > r.To {
		return false, nil
	}
	k := qRead
	switch {
	case r.Headers && r.Reverse:
		k = qReadHeadersBack
	case r.Headers:
		k = qReadHeaders
	case r.Reverse:
		k = qReadBack
	}
	stmt, err := c.stmt(k)
	if err != nil {
		return false, err
	}
	stmt.BindText(1, thread)
	stmt.BindInt64(2, int64(r.From))
	stmt.BindInt64(3, int64(r.To))
	for {
		if p.full() {
			return true, stmt.Reset()
		}
		row, err := stmt.Step()
		if err != nil {
			return false, err
		}
		if !row {
			return false, stmt.Reset()
		}
		e, err := s.take(ctx, c, p, stmt, thread, r.Headers)
		if err != nil {
			return false, first(err, stmt.Reset())
		}
		if r.Reverse {
			r.To = e.Seq - 1
		} else {
			r.From = e.Seq + 1
		}
	}
}

// take adds the entry in the statement's row to the page.
func (s *Store) take(ctx context.Context, c *conn, p *page[*posthouse.Entry], stmt *sqlite.Stmt, thread string, headers bool) (*posthouse.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, err := scanHead(stmt, thread)
	if err != nil {
		return nil, err
	}
	n := len(e.Header)
	if !headers {
		b := scanBody(stmt)
		if err := s.unpack(c, &b); err != nil {
			return nil, err
		}
		if err := b.split(e); err != nil {
			return nil, err
		}
		n += len(b.body)
	}
	p.add(e, n)
	return e, nil
}

// readSeqs reads entries one by one, in the order asked.
func (s *Store) readSeqs(ctx context.Context, c *conn, p *page[*posthouse.Entry], thread string, r *posthouse.Range) (more bool, err error) {
	k := qReadOne
	if r.Headers {
		k = qReadOneHeader
	}
	stmt, err := c.stmt(k)
	if err != nil {
		return false, err
	}
	for len(r.Seqs) > 0 && !p.full() {
		seq := r.Seqs[0]
		r.Seqs = r.Seqs[1:]
		if seq > maxSeq {
			continue
		}
		stmt.BindText(1, thread)
		stmt.BindInt64(2, int64(seq))
		row, err := stmt.Step()
		if err != nil {
			return false, err
		}
		if row {
			_, err = s.take(ctx, c, p, stmt, thread, r.Headers)
		}
		if err = first(err, stmt.Reset()); err != nil {
			return false, err
		}
	}
	return len(r.Seqs) > 0, nil
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (ref posthouse.Ref, err error) {
	k := keyOf(id)
	err = s.lend(ctx, fmt.Sprintf("find %q", id), func(c *conn) error {
		p, err := c.place(&k)
		if err == nil && p.entry == 0 { // or it has just gone from one place to the other
			err = c.snapshot(func(c *conn) (err error) {
				p, err = c.place(&k)
				return err
			})
		}
		if err == nil && p.entry == 0 {
			err = notFound("checkpoint or gate %q", id)
		}
		ref = posthouse.Ref{Thread: p.name, Seq: p.seq}
		return err
	})
	return ref, err
}

func notFound(format string, args ...any) error {
	return &posthouse.Error{Code: posthouse.CodeNotFound, Message: "there is no " + fmt.Sprintf(format, args...)}
}
