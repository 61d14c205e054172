package memstore

import (
	"cmp"

	"github.com/posthouse/posthouse"
)

// An openGate is a gate that waits, in the lists it is in. It never changes.
type openGate struct {
	posthouse.WaitingGate
	thread *thread
}

func byGate(a, b *openGate) int { return cmp.Compare(a.ID, b.ID) }

// reopen makes the lists say what is open in the thread once info is its
// summary. What did not change is passed over: a gate opens behind all others,
// and a decision takes one out.
func (s *Store) reopen(t *thread, info *posthouse.ThreadInfo) {
	was, is := t.open, info.Waiting
	n := 0
	for n < len(was) && n < len(is) && was[n].WaitingGate == is[n] {
		n++
	}
	end := 0
	for end < len(was)-n && end < len(is)-n && was[len(was)-1-end].WaitingGate == is[len(is)-1-end] {
		end++
	}
	if n == len(was) && n == len(is) {
		return
	}
	for _, g := range was[n : len(was)-end] {
		s.shut(g)
	}
	open := make([]*openGate, 0, len(is))
	open = append(open, was[:n]...)
	for _, w := range is[n : len(is)-end] {
		g := &openGate{w, t}
		open = append(open, g)
		for _, list := range g.Lists() {
			o := s.gates[list]
			if o == nil {
				o = &ordered[*openGate]{cmp: byGate}
				s.gates[list] = o
			}
			o.add(g)
		}
	}
	t.open = append(open, was[len(was)-end:]...)
}

// shut takes a gate out of its lists.
func (s *Store) shut(g *openGate) {
	for _, list := range g.Lists() {
		o := s.gates[list]
		if o.remove(g); len(o.blocks) == 0 {
			delete(s.gates, list)
		}
	}
}

// gatesPage returns up to n open gates, each in its thread's summary.
func (s *Store) gatesPage(q *posthouse.ThreadQuery, n int) (page []posthouse.ThreadInfo, after string, more bool) {
	var from []*cursor[*openGate]
	for _, list := range q.GateLists() {
		if o := s.gates[list]; o != nil {
			from = append(from, o.from(func(g *openGate) bool { return q.After == "" || q.Behind(string(g.ID)) }, q.Descending))
		}
	}
	after = q.After
	for looked := 0; ; looked++ {
		g := nextGate(from, q.Descending)
		switch {
		case g == nil:
			return page, after, false
		case len(page) == n || looked == pageCandidates:
			return page, after, true
		case string(g.ID) == after:
			continue // in two lists whose numbers are one
		}
		after = string(g.ID)
		if info := &g.thread.info; q.MatchGate(&g.WaitingGate) && q.Match(info) {
			page = append(page, cloneInfo(info.OfGate(&g.WaitingGate)))
		}
	}
}

// nextGate takes the gate that comes first from the cursors; nil at their ends.
func nextGate(from []*cursor[*openGate], down bool) (next *openGate) {
	var at *cursor[*openGate]
	for _, c := range from {
		if g, ok := c.item(); ok && (at == nil || down && byGate(g, next) > 0 || !down && byGate(g, next) < 0) {
			at, next = c, g
		}
	}
	if at != nil {
		at.step()
	}
	return next
}

// gatesOf answers a query for the open gates of one thread.
func (t *thread) gatesOf(q *posthouse.ThreadQuery) (page []posthouse.ThreadInfo) {
	for _, one := range q.GatesOf(&t.info) {
		page = append(page, cloneInfo(one))
	}
	return page
}
