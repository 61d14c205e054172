package lists

import (
	"container/heap"
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A list across threads starts with a scan in order, which is fastest where every
// other checkpoint matches. Once it has passed over more checkpoints than there are
// segments with the index term, it switches to those segments, merged.
const (
	maxSegments = 64 // read at once
	matchCredit = 3  // checkpoints passed over that one match makes up for
)

// A search is how a listing uses the index of terms.
type search struct {
	terms    []int64
	budget   int // checkpoints the scan may pass over before it counts the segments
	wasted   int // checkpoints it has passed over, less the credit for matches
	segments *segments
	commits  uint64 // of the store, before this page is read
}

// looked counts a checkpoint that the scan has read.
func (s *search) looked(matches bool) {
	if matches {
		s.wasted -= matchCredit
	} else {
		s.wasted++
	}
}

// due reports whether to count the segments.
func (s *search) due() bool { return s.segments == nil && len(s.terms) > 0 && s.wasted >= s.budget }

func (l *listing) across(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Header]) (more bool, err error) {
	s := &l.search
	s.commits = l.source.Commits()
	if s.due() {
		if s.budget *= 2; s.budget == 0 {
			s.budget = maxSegments
		}
		if err := l.choose(ctx, c); err != nil {
			return false, err
		}
	}
	if s.segments != nil {
		return l.byIndexTerm(ctx, c, p)
	}
	return l.byOrder(ctx, c, p)
}

// choose opens the segments of the rarest term, if they are fewer than the budget.
func (l *listing) choose(ctx context.Context, c *db.Conn) error {
	least, rarest := int64(l.search.budget), int64(-1)
	for _, term := range l.search.terms {
		if _, err := c.Row(qCountIndexTerm, func(stmt *sqlite.Stmt) {
			if n := stmt.ColumnInt64(0); n < least {
				least, rarest = n, term
			}
		}, term, least); err != nil {
			return err
		}
	}
	if rarest < 0 {
		return nil
	}
	found, err := l.segments(c, rarest)
	if err != nil {
		return err
	}
	m := &segments{l: l, chunk: 64}
	if len(found) > 8 {
		m.chunk = 4
	}
	for i := 0; i < len(found); {
		n := 1 // segments of one thread
		for i+n < len(found) && found[i+n].thread == found[i].thread {
			n++
		}
		part, err := l.cut(ctx, c, found[i:i+n])
		if err != nil {
			return err
		}
		m.all = append(m.all, part...)
		i += n
	}
	l.search.segments = m
	return nil
}

// segments returns the segments that have a term, by thread and by number.
func (l *listing) segments(c *db.Conn, term int64) (found []*segment, err error) {
	for stmt, err := range c.Rows(qSegments, term) {
		if err != nil {
			return nil, err
		}
		s := &segment{thread: stmt.ColumnInt64(0), from: uint64(stmt.ColumnInt64(1)) * segmentSize, whole: stmt.ColumnInt64(2)&layout.FlagDisorder != 0}
		s.to = s.from + segmentSize - 1
		s.first, s.last = s.from, s.to
		if n := len(found); n > 0 && found[n-1].thread == s.thread {
			s.name = found[n-1].name
		} else {
			s.name = stmt.ColumnText(3)
		}
		found = append(found, s)
	}
	return found, nil
}

// cut removes what lies before the cursor from the segments of one thread.
func (l *listing) cut(ctx context.Context, c *db.Conn, all []*segment) ([]*segment, error) {
	if !l.begun || all[0].whole {
		return all, nil
	}
	if len(all) == 1 {
		// Searching a short thread costs more than reading it.
		if seq, _, err := checkpointFrom(c, ctx, all[0].name, all[0].from+maxSegments); err != nil || seq == 0 || seq > all[0].to {
			return all, err
		}
	}
	cut, err := searchLog(c, ctx, all[0].name, l.beyond)
	if err != nil {
		return nil, err
	}
	left := all[:0]
	for _, s := range all {
		if !l.Descending {
			s.from = max(s.from, cut)
		} else if cut == 0 {
			continue
		} else {
			s.to = min(s.to, cut-1)
		}
		if s.from <= s.to {
			s.first, s.last = s.from, s.to
			left = append(left, s)
		}
	}
	return left, nil
}

// A segment is a part of a thread's log, with the matches that were read but not yet
// listed.
type segment struct {
	thread      int64
	name        string
	first, last uint64
	from, to    uint64 // what is still to be read
	whole       bool   // order keys do not ascend, so it is read at once and sorted
	pending     []*posthouse.Header
}

// again resets the segment, so that it is read from the first pending match.
func (s *segment) again(back bool) {
	seq := s.pending[0].Seq
	s.from, s.to, s.pending = s.first, s.last, nil
	if back && !s.whole {
		s.to = seq
	} else if !s.whole {
		s.from = seq
	}
}

// segments merges the matches in segments by order key. It is a heap of the segments
// that have pending matches.
type segments struct {
	l       *listing
	all     []*segment // not in the heap yet
	heap    []*segment
	chunk   int    // matches read at once
	commits uint64 // of the store, when the pending matches were read
}

func (l *listing) byIndexTerm(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Header]) (more bool, err error) {
	m := l.search.segments
	if err := m.refresh(ctx, c); err != nil {
		return false, err
	}
	for len(m.heap) > 0 {
		if p.Full() {
			return true, nil
		}
		s := m.heap[0]
		h := s.pending[0]
		p.Add(h, 512)
		l.begun, l.ord, l.seq = true, h.Order, h.Seq
		s.pending = s.pending[1:]
		if len(s.pending) == 0 {
			if err := m.fill(ctx, c, s); err != nil {
				return false, err
			}
		}
		if len(s.pending) > 0 {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	return false, nil
}

// refresh reads pending matches again after a commit, which may have removed or replaced
// them. A read-only store cannot see commits, so it always reads again.
func (m *segments) refresh(ctx context.Context, c *db.Conn) error {
	if m.commits == m.l.search.commits && !m.l.source.ReadOnly && m.all == nil {
		return nil
	}
	m.commits = m.l.search.commits
	for _, s := range m.heap {
		s.again(m.l.Descending)
	}
	m.all, m.heap = append(m.all, m.heap...), nil
	for _, s := range m.all {
		if err := m.fill(ctx, c, s); err != nil {
			return err
		}
		if len(s.pending) > 0 {
			m.heap = append(m.heap, s)
		}
	}
	m.all = nil
	heap.Init(m)
	return nil
}

// fill reads the next matches of a segment, if it has any left.
func (m *segments) fill(ctx context.Context, c *db.Conn, s *segment) error {
	l := m.l
	if s.from > s.to {
		return nil
	}
	if l.finder == nil {
		l.finder = &posthouse.HeaderReader{Query: l.Query}
	}
	t, err := walkLog(c, s.thread, s.name, s.from, s.to, l.Descending, l.finder, nearby)
	if err != nil {
		return err
	}
	for heads, err := range t.headers(ctx) {
		if err != nil {
			return err
		}
		for _, h := range heads {
			if l.behind(h) {
				s.pending = append(s.pending, h)
			}
		}
		if len(s.pending) >= m.chunk && !s.whole {
			break
		}
	}
	s.from, s.to = t.from, t.to
	if s.whole || len(s.pending) < m.chunk {
		s.from, s.to = 1, 0
	}
	slices.SortFunc(s.pending, l.compare)
	return nil
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (m *segments) Len() int { return len(m.heap) }
func (m *segments) Less(i, j int) bool {
	return m.l.compare(m.heap[i].pending[0], m.heap[j].pending[0]) < 0
}
func (m *segments) Swap(i, j int) { m.heap[i], m.heap[j] = m.heap[j], m.heap[i] }
func (m *segments) Push(any)      {}
func (m *segments) Pop() any {
	m.heap = m.heap[:len(m.heap)-1]
	return nil
}

// likely narrows a range of the listed thread to the next segment that has all terms of
// the query. The range is empty, from above to, if no segment has. Without terms it
// stays whole.
func (l *listing) likely(c *db.Conn, from, to uint64) (uint64, uint64, error) {
	terms := l.search.terms
	if len(terms) == 0 {
		return from, to, nil
	}
	id, _, err := threadRow(c, l.Thread)
	if err != nil || id == 0 {
		return 1, 0, err
	}
	k, at := qSegmentFrom, from/segmentSize
	if l.Descending {
		k, at = qSegmentTo, to/segmentSize
	}
	for agreed := 0; agreed < len(terms); {
		for _, term := range terms {
			next := uint64(0)
			found, err := c.Row(k, func(stmt *sqlite.Stmt) { next = uint64(stmt.ColumnInt64(0)) }, term, id, at)
			if err != nil || !found {
				return 1, 0, err
			}
			if agreed++; next != at {
				at, agreed = next, 1
			}
		}
	}
	return max(from, at*segmentSize), min(to, at*segmentSize+segmentSize-1), nil
}
