package memindex

import (
	"cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// An openGate is a gate that waits, as the lists of gates hold it. It never changes.
type openGate struct {
	posthouse.WaitingGate
	thread *thread
}

func byGate(a, b *openGate) int { return cmp.Compare(a.ID, b.ID) }

// reopen updates the lists to the gates that wait in info, the thread's next summary.
// It skips what did not change at both ends: a gate opens after all others, and a
// decision takes one out.
func (ix *Index) reopen(t *thread, info *posthouse.ThreadInfo) {
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
		for _, list := range lists.OfGate(&g.WaitingGate) {
			o := ix.gates[list]
			if o.remove(g); len(o.blocks) == 0 {
				delete(ix.gates, list)
			}
		}
	}
	open := make([]*openGate, 0, len(is))
	open = append(open, was[:n]...)
	for _, w := range is[n : len(is)-end] {
		g := &openGate{w, t}
		open = append(open, g)
		for _, list := range lists.OfGate(&g.WaitingGate) {
			o := ix.gates[list]
			if o == nil {
				o = &ordered[*openGate]{cmp: byGate}
				ix.gates[list] = o
			}
			o.add(g)
		}
	}
	t.open = append(open, was[len(was)-end:]...)
}

// gatesPage returns up to n open gates, each in its thread's summary, and moves the
// query's cursor past them.
func (ix *Index) gatesPage(q *posthouse.ThreadQuery, n int) (page []*posthouse.ThreadInfo, more bool) {
	var from []*cursor[*openGate]
	for _, list := range lists.ForGates(q) {
		if o := ix.gates[list]; o != nil {
			from = append(from, o.from(func(g *openGate) bool { return q.After == "" || q.Behind(string(g.ID)) }, q.Descending))
		}
	}
	for looked := 0; ; looked++ {
		g := nextGate(from, q.Descending)
		switch {
		case g == nil:
			return page, false
		case len(page) == n || looked == pageCandidates:
			return page, true
		case string(g.ID) == q.After:
			continue // the gate is in two of the lists
		}
		q.After = string(g.ID)
		if info := &g.thread.info; lists.MatchGate(q, &g.WaitingGate) && q.Match(info) {
			page = append(page, CloneInfo(lists.WithGate(info, &g.WaitingGate)))
		}
	}
}

// nextGate returns the first gate of all cursors and moves its cursor on. It returns
// nil when all are at their ends.
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
