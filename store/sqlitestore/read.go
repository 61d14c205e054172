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
	return db.Pages(ctx, s.read, doing, r.Limit, func(c *db.Conn, p *db.Page[*posthouse.Entry]) (more bool, err error) {
		if r.Seqs == nil {
			return s.readRange(ctx, c, p, thread, &r)
		}
		for len(r.Seqs) > 0 && !p.Full() {
			err := s.packs.readOne(ctx, c, p, posthouse.Ref{Thread: thread, Seq: r.Seqs[0]}, r.Headers)
			if err != nil {
				return false, err
			}
			r.Seqs = r.Seqs[1:]
		}
		return len(r.Seqs) > 0, nil
	})
}

// ReadAll implements [lists.BulkReader]: entries share read transactions.
func (s *Store) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	return db.Pages(ctx, s.read, "read entries", 0, func(c *db.Conn, p *db.Page[*posthouse.Entry]) (more bool, err error) {
		for len(refs) > 0 && !p.Full() {
			if err := s.packs.readOne(ctx, c, p, refs[0], headers); err != nil {
				return false, err
			}
			refs = refs[1:]
		}
		return len(refs) > 0, nil
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
		e, err := s.packs.readRow(ctx, c, p, stmt, thread, r.Headers)
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
func (ps *packs) readRow(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], stmt *sqlite.Stmt, thread string, headers bool) (*posthouse.Entry, error) {
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
		if err := ps.unpack(c, &b); err != nil {
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

// readOne adds an entry to the page, if there is one at the place.
func (ps *packs) readOne(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], at posthouse.Ref, headers bool) error {
	k := qReadOne
	if headers {
		k = qReadOneHeader
	}
	if at.Seq > valid.MaxSeq {
		return nil
	}
	for stmt, err := range c.Rows(k, at.Thread, at.Seq) {
		if err == nil {
			_, err = ps.readRow(ctx, c, p, stmt, at.Thread, headers)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
