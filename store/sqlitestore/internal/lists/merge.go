package lists

import (
	"bytes"
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A ref is a checkpoint's place in the order across threads.
type ref struct {
	ord   posthouse.OrderKey
	entry int64
	head  *posthouse.Header // nil if it was not read yet
	apart bool              // the index of terms says that it does not match
}

// A source yields refs in order.
type source interface {
	next(context.Context) (ref, bool, error)
	close()
}

// A merge yields the refs of its sources in one order.
type merge struct {
	back    bool
	sources []source
	heads   []ref
	have    []bool
	primed  bool
	err     error // of a source, returned after the refs before it
}

// sources opens the sources of a query at its cursor.
func (l *listing) sources(ctx context.Context, c *db.Conn) (*merge, error) {
	m := &merge{back: l.Descending}
	up, down, of := qAll, qAllBack, int64(0)
	terms := l.search.terms
	switch {
	case l.Coordination != "":
		terms = nil
		up, down, of = qMembers, qMembersBack, layout.CoordinationKey(l.Coordination)
		own, err := l.ownThread(ctx, c)
		if err != nil {
			return nil, err
		}
		m.sources = append(m.sources, own)
	case len(terms) > 0:
		up, down = qAllTerm, qAllTermBack
	}
	if l.Descending {
		up = down
	}
	from := l.ord
	if !l.begun && l.Descending {
		from = posthouse.OrderKey(bytes.Repeat([]byte{0xff}, len(from)))
	}
	args := []any{of, from[:]}
	if len(terms) > 0 {
		args = append(args, terms[0])
	}
	stmt, err := c.Stmt(up, args...)
	if err != nil {
		m.close()
		return nil, err
	}
	m.sources = append(m.sources, &indexSource{stmt: stmt, terms: len(terms) > 0, back: l.Descending})
	m.heads, m.have = make([]ref, len(m.sources)), make([]bool, len(m.sources))
	return m, nil
}

func (m *merge) next(ctx context.Context) (r ref, ok bool, err error) {
	if m.err != nil {
		return r, false, m.err
	}
	if !m.primed {
		for i := range m.sources {
			m.heads[i], m.have[i], err = m.sources[i].next(ctx)
			if err != nil {
				return r, false, err
			}
		}
		m.primed = true
	}
	best := -1
	for i := range m.sources {
		if m.have[i] && (best < 0 || m.before(&m.heads[i], &m.heads[best])) {
			best = i
		}
	}
	if best < 0 {
		return r, false, nil
	}
	r = m.heads[best]
	m.heads[best], m.have[best], m.err = m.sources[best].next(ctx)
	return r, true, nil
}

func (m *merge) before(a, b *ref) bool {
	if m.back {
		a, b = b, a
	}
	return layout.CompareKeys(a.ord, b.ord) < 0
}

func (m *merge) close() {
	for _, s := range m.sources {
		s.close()
	}
}

// An indexSource reads one of the indexes of order keys.
type indexSource struct {
	stmt  *sqlite.Stmt
	terms bool // it has a third column: whether the segment has the term
	back  bool
	last  posthouse.OrderKey // if begun
	begun bool
}

func (s *indexSource) next(ctx context.Context) (r ref, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return r, false, err
	}
	ok, err = s.stmt.Step()
	if ok {
		s.stmt.ColumnBytes(0, r.ord[:])
		if c := layout.CompareKeys(r.ord, s.last); s.begun && c != 0 && (c < 0) != s.back {
			return r, false, layout.OutOfOrder("orders")
		}
		s.last, s.begun = r.ord, true
		r.entry = s.stmt.ColumnInt64(1)
		r.apart = s.terms && s.stmt.ColumnInt64(2) == 0
	}
	return r, ok, err
}

func (s *indexSource) close() { _ = s.stmt.Reset() } // it repeats the error of Step

// ownThread returns the source of the checkpoints in the thread that has the
// coordination's name. The log is the index, since order keys ascend with sequence
// numbers, unless the thread is marked.
func (l *listing) ownThread(ctx context.Context, c *db.Conn) (source, error) {
	_, flags, err := threadRow(c, l.Coordination)
	if err != nil {
		return nil, err
	}
	if flags&layout.FlagDisorder != 0 {
		return l.sorted(ctx, c)
	}
	from, to := uint64(0), uint64(valid.MaxSeq)
	if l.begun {
		cut, err := searchLog(c, ctx, l.Coordination, l.beyond)
		if err != nil {
			return nil, err
		}
		from = cut
		if l.Descending {
			if cut == 0 {
				return &sortedSource{}, nil
			}
			from, to = 0, cut-1
		}
	}
	return l.openOwn(c, from, to, l.Descending, nearby)
}

// beyond reports whether an order key is above the cursor, or at it in a list that
// ascends.
func (l *listing) beyond(o posthouse.OrderKey) bool {
	d := layout.CompareKeys(o, l.ord)
	return d > 0 || d == 0 && !l.Descending
}

func (l *listing) openOwn(c *db.Conn, from, to uint64, back bool, patience int) (*logSource, error) {
	if l.reader == nil {
		l.reader = &posthouse.HeaderReader{Query: posthouse.Query{Coordination: l.Coordination}}
	}
	log, err := openLog(c, l.Coordination, from, to, back, l.reader, patience)
	return &logSource{log: log}, err
}

// searchLog finds the first sequence number of a thread with an order key beyond a
// bound. Order keys must ascend.
func searchLog(c *db.Conn, ctx context.Context, thread string, beyond func(posthouse.OrderKey) bool) (uint64, error) {
	lo, hi := uint64(0), uint64(0)
	s, err := layout.SummaryOf(c, thread)
	if s != nil {
		hi = s.Info.Tail.Seq + 1
	}
	for err == nil && lo < hi {
		mid := lo + (hi-lo)/2
		seq, o, err := checkpointFrom(c, ctx, thread, mid)
		if err != nil {
			return 0, err
		}
		if seq == 0 || beyond(o) {
			hi = mid
		} else {
			lo = seq + 1
		}
	}
	return lo, err
}

// checkpointFrom returns the first checkpoint at or after a sequence number, whether or
// not the index leads to it. It returns 0 past the last one.
func checkpointFrom(c *db.Conn, ctx context.Context, thread string, from uint64) (seq uint64, o posthouse.OrderKey, err error) {
	t, err := openLog(c, thread, from, valid.MaxSeq, false, new(posthouse.HeaderReader), nearby)
	if err != nil {
		return 0, o, err
	}
	t.all = true
	for heads, err := range t.headers(ctx) {
		if err != nil {
			return 0, o, err
		}
		if len(heads) > 0 {
			return heads[0].Seq, heads[0].Order, nil
		}
	}
	return 0, o, nil
}

type logSource struct {
	log     *threadLog
	pending []*posthouse.Header
}

func (s *logSource) next(ctx context.Context) (r ref, ok bool, err error) {
	for {
		if len(s.pending) > 0 {
			h := s.pending[0]
			s.pending = s.pending[1:]
			return ref{ord: h.Order, entry: s.log.id, head: h}, true, nil
		}
		heads, e, err := s.log.next(ctx)
		if err != nil || e == nil {
			return r, false, err
		}
		s.pending = heads
	}
}

func (s *logSource) close() { s.log.close() }

// A sortedSource yields the checkpoints of a thread with order keys that do not
// ascend. A listing reads such a thread whole, once.
type sortedSource struct{ refs []ref }

func (s *sortedSource) next(context.Context) (r ref, ok bool, err error) {
	if len(s.refs) == 0 {
		return r, false, nil
	}
	r, s.refs = s.refs[0], s.refs[1:]
	return r, true, nil
}

func (s *sortedSource) close() {}

func (l *listing) sorted(ctx context.Context, c *db.Conn) (source, error) {
	compare := func(r ref, k posthouse.OrderKey) int { return l.order(r.ord, 0, k, 0) }
	if l.own == nil {
		all, err := l.openOwn(c, 0, valid.MaxSeq, false, indexOnly)
		if err != nil {
			return nil, err
		}
		defer all.close()
		own := []ref{}
		r, ok, err := all.next(ctx)
		for ; ok; r, ok, err = all.next(ctx) {
			own = append(own, ref{ord: r.ord, entry: r.entry})
		}
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(own, func(a, b ref) int { return compare(a, b.ord) })
		l.own = own
	}
	from := 0
	if l.begun {
		from, _ = slices.BinarySearchFunc(l.own, l.ord, compare)
	}
	return &sortedSource{l.own[from:]}, nil
}
