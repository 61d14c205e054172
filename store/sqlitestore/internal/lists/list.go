package lists

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A Source is where lists read.
type Source struct {
	Read     db.Reader
	Commits  func() uint64 // how many transactions were committed
	ReadOnly bool          // Commits does not count those of the process that writes
}

// List finds checkpoints, see [posthouse.Store].
//
// With a thread it reads the thread's log by sequence: the segments that have the run,
// graph, node, agent or label of the query. Without a thread it reads the index of
// order keys. For a coordination it merges the index of its members with the log of
// the thread that has its name. It switches to the index of terms for rare values, and
// matches headers for all other filters.
//
// A header that does not decode or was changed ends the list with
// [posthouse.ErrCorrupt], after the results before it. List does not notice rows that an
// index has lost.
func List(ctx context.Context, source Source, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	l := &listing{Query: q, source: source, patience: nearby}
	err := l.start()
	return func(yield func(*posthouse.Header, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		l := *l // each use of the iterator begins at the cursor
		next := l.across
		if q.Thread != "" {
			next = l.bySeq
		}
		for h, err := range db.Pages(ctx, source.Read, "list checkpoints", q.Limit, func(c *db.Conn, p *db.Page[*posthouse.Header]) (bool, error) {
			return next(ctx, c, p)
		}) {
			if !yield(h, err) {
				return
			}
		}
	}
}

// A listing is a query and its position.
type listing struct {
	posthouse.Query
	begun bool
	ord   posthouse.OrderKey // of the last checkpoint seen, if begun
	seq   uint64
	own   []ref // all of the coordination's own thread, if its order keys do not ascend

	source Source
	search search

	finder   *posthouse.HeaderReader // of matches, in segments
	reader   *posthouse.HeaderReader // of the coordination's own thread, or of the listed thread
	patience int                     // of the next walk of the listed thread
}

func (l *listing) start() (err error) {
	l.search.terms = queryIndexTerms(&l.Query)
	if l.After == "" {
		return nil
	}
	l.begun = true
	l.ord, l.seq, err = posthouse.ParseCursor(l.After)
	if err != nil {
		return err
	}
	if l.seq > valid.MaxSeq {
		return posthouse.Invalid("cursor", "%.80q is not one this store gave out", l.After)
	}
	return nil
}

// behind reports whether a checkpoint comes after the last one seen.
func (l *listing) behind(h *posthouse.Header) bool {
	return !l.begun || l.order(h.Order, h.Seq, l.ord, l.seq) > 0
}

// compare orders checkpoints as the list shows them.
func (l *listing) compare(a, b *posthouse.Header) int { return l.order(a.Order, a.Seq, b.Order, b.Seq) }

func (l *listing) order(a posthouse.OrderKey, aseq uint64, b posthouse.OrderKey, bseq uint64) int {
	c := cmp.Or(layout.CompareKeys(a, b), cmp.Compare(aseq, bseq))
	if l.Descending {
		return -c
	}
	return c
}

func (l *listing) bySeq(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Header]) (more bool, err error) {
	from, to := min(l.From, valid.MaxSeq), uint64(valid.MaxSeq)
	if l.To != 0 {
		to = min(to, l.To)
	}
	switch {
	case l.begun && l.Descending:
		if l.seq == 0 {
			return false, nil
		}
		to = min(to, l.seq-1)
	case l.begun:
		from = max(from, l.seq+1)
	}
	if from > to {
		return false, nil
	}
	end := to
	if l.Descending {
		end = from
	}
	from, to, err = l.likely(c, from, to)
	if err != nil || from > to {
		return false, err
	}
	if l.reader == nil {
		l.reader = &posthouse.HeaderReader{Query: l.Query}
	}
	t, err := openLog(c, l.Thread, from, to, l.Descending, l.reader, l.patience)
	if err != nil {
		return false, err
	}
	defer t.close()
	for {
		if p.Full() {
			l.patience = nearby
			if t.inTable {
				l.patience = atOnce
			}
			return true, nil
		}
		heads, e, err := t.next(ctx)
		if err != nil || e == nil {
			l.begun, l.seq = true, to
			if l.Descending {
				l.seq = from
			}
			return err == nil && l.seq != end, err
		}
		l.begun, l.seq = true, e.Seq
		for _, h := range heads {
			p.Add(h, len(e.Header))
		}
	}
}

// threadRow returns a thread's number and flags, zeros for an unknown thread.
func threadRow(c *db.Conn, thread string) (id, flags int64, err error) {
	_, err = c.Row(qThread, func(stmt *sqlite.Stmt) { id, flags = stmt.ColumnInt64(0), stmt.ColumnInt64(1) }, thread)
	return id, flags, err
}

func (l *listing) byOrder(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Header]) (more bool, err error) {
	m, err := l.sources(ctx, c)
	if err != nil {
		return false, err
	}
	defer m.close()
	var tie []*posthouse.Header // checkpoints with one order key, not yet in order of sequence
	var at posthouse.OrderKey   // that key, if open
	open := false
	flush := func() {
		slices.SortFunc(tie, l.compare)
		for _, h := range tie {
			if !l.behind(h) {
				continue
			}
			matches := l.Match(h)
			l.search.looked(matches)
			if matches {
				p.Add(h, 512)
			}
		}
		tie = tie[:0]
		if open {
			l.passed(at)
		}
	}
	for {
		r, ok, err := m.next(ctx)
		if err != nil || !ok {
			flush()
			return false, err
		}
		if open && at != r.ord {
			if flush(); p.Full() || l.search.due() {
				return true, nil
			}
		}
		at, open = r.ord, true
		if r.apart {
			l.search.looked(false)
			continue
		}
		h, err := headerAt(c, &r)
		if err != nil {
			open = false // it is read again
			flush()
			return false, err
		}
		tie = append(tie, h)
	}
}

// passed moves the cursor past all checkpoints with an order key.
func (l *listing) passed(at posthouse.OrderKey) {
	l.begun, l.ord, l.seq = true, at, valid.MaxSeq
	if l.Descending {
		l.seq = 0
	}
}

// headerAt returns the checkpoint of a ref. It reads the entry unless the ref has the
// header.
func headerAt(c *db.Conn, r *ref) (*posthouse.Header, error) {
	if r.head != nil {
		return r.head, nil
	}
	e, err := layout.EntryAt(c, r.entry)
	if err != nil {
		return nil, err
	}
	records, err := e.Records()
	if err != nil {
		return nil, err
	}
	for i := range records {
		if h := records[i].Checkpoint; h != nil && h.Order == r.ord {
			return h, nil
		}
	}
	return nil, posthouse.Corrupt("the index leads from order key %s to entry %d of thread %q, which does not have it", r.ord, e.Seq, e.Thread)
}
