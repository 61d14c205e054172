package sqlitestore

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/check"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/lists"
)

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	doing := fmt.Sprintf("read thread %q", thread)
	if r.To == 0 || r.To > valid.MaxSeq {
		r.To = valid.MaxSeq
	}
	return db.Pages(ctx, s.read, doing, r.Limit, func(c *db.Conn, p *db.Page[*posthouse.Entry]) (bool, error) {
		if r.Seqs != nil {
			return s.readSeqs(ctx, c, p, thread, &r)
		}
		return s.readRange(ctx, c, p, thread, &r)
	})
}

// readRange reads a page and moves the range past it.
func (s *Store) readRange(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], thread string, r *posthouse.Range) (more bool, err error) {
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
	for stmt, err := range c.Rows(k, thread, r.From, r.To) {
		if err != nil {
			return false, err
		}
		if p.Full() {
			return true, nil
		}
		e, err := s.readRow(ctx, c, p, stmt, thread, r.Headers)
		if err != nil {
			return false, err
		}
		if e.Seq < r.From || e.Seq > r.To {
			p.Items = p.Items[:len(p.Items)-1]
			return false, layout.OutOfOrder("entries")
		}
		if r.Reverse {
			r.To = e.Seq - 1
		} else {
			r.From = e.Seq + 1
		}
	}
	return false, nil
}

// readRow adds the entry in the statement's row to the page.
func (s *Store) readRow(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], stmt *sqlite.Stmt, thread string, headers bool) (*posthouse.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, err := layout.ScanHead(stmt, thread)
	if err != nil {
		return nil, err
	}
	n := len(e.Header)
	if !headers {
		b := layout.ScanBody(stmt)
		if err := s.packs.unpack(c, &b); err != nil {
			return nil, err
		}
		if err := b.Split(e); err != nil {
			return nil, err
		}
		n += len(b.Body)
	}
	p.Add(e, n)
	return e, nil
}

// readSeqs reads entries one by one, in the order asked.
func (s *Store) readSeqs(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], thread string, r *posthouse.Range) (more bool, err error) {
	k := qReadOne
	if r.Headers {
		k = qReadOneHeader
	}
	for len(r.Seqs) > 0 && !p.Full() {
		seq := r.Seqs[0]
		r.Seqs = r.Seqs[1:]
		if seq > valid.MaxSeq {
			continue
		}
		for stmt, err := range c.Rows(k, thread, seq) {
			if err == nil {
				_, err = s.readRow(ctx, c, p, stmt, thread, r.Headers)
			}
			if err != nil {
				return false, err
			}
		}
	}
	return len(r.Seqs) > 0, nil
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (ref posthouse.Ref, err error) {
	k := layout.KeyOf(id)
	err = s.lend(ctx, fmt.Sprintf("find %q", id), func(c *db.Conn) error {
		p, err := layout.FindPlace(c, &k)
		if err == nil && p.Entry == 0 { // it may have moved between the two statements
			err = c.Snapshot(func(c *db.Conn) (err error) {
				p, err = layout.FindPlace(c, &k)
				return err
			})
		}
		if err == nil && p.Entry == 0 {
			err = posthouse.NotFound("checkpoint or gate", id)
		}
		ref = posthouse.Ref{Thread: p.Name, Seq: p.Seq}
		return err
	})
	return ref, err
}

// List implements [posthouse.Store].
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return lists.List(ctx, lists.Source{Read: s.read, Commits: s.commits.Load, ReadOnly: s.opts.ReadOnly}, q)
}

// Check implements [posthouse.Checker], see [check.Run].
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return check.Run(ctx, check.Source{Read: s.read, Readers: s.opts.Readers, Schema: migrations})
}
