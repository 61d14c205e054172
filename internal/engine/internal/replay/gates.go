package replay

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// isWait reports whether the gate is a wait of the program itself. Its place in the order
// counts like that of a step.
func isWait(g *posthouse.Gate) bool {
	return g != nil && (g.Kind == posthouse.GateTimer || g.Kind == posthouse.GateSignal || g.Kind == posthouse.GateTask)
}

// TakeGate takes a gate that no person decides out of the replay, nil if there is no such
// gate.
func (l *Log) TakeGate(name string, n uint32) *posthouse.Gate {
	if l == nil {
		return nil
	}
	g := l.gates[callKey{name, n}]
	l.CountReplayed(name, g != nil)
	return g
}

// TakeWait is TakeGate for a wait of the program.
func (l *Log) TakeWait(name string, n uint32) *posthouse.Gate {
	if l == nil || !isWait(l.gates[callKey{name, n}]) {
		return nil
	}
	return l.TakeGate(name, n)
}

// SetGate replaces a gate that no person decides by the same with its decision.
func (l *Log) SetGate(g *posthouse.Gate) {
	if k := (callKey{g.Name, g.Occurrence}); l.gates[k] != nil && l.gates[k].ID == g.ID {
		l.gates[k] = g
	}
}

// Within returns the newest gate of each wait and question with a name that begins with prefix.
func (l *Log) Within(prefix string) (all []*posthouse.Gate) {
	if l == nil {
		return nil
	}
	for k, g := range l.gates {
		if strings.HasPrefix(k.name, prefix) {
			all = append(all, g)
		}
	}
	for _, q := range l.questions {
		if strings.HasPrefix(q.name, prefix) {
			all = append(all, q.Last())
		}
	}
	return all
}

// WithinResult reports whether a name is within a call that has its result on record.
func (l *Log) WithinResult(name string) bool {
	if l == nil {
		return false
	}
	for k := range l.results {
		if strings.HasPrefix(name, CallName(k.name, k.n)+Nested) {
			return true
		}
	}
	return false
}

// openWithin is Within for gates without a decision.
func (l *Log) openWithin(prefix string) (open []*posthouse.Gate) {
	for _, g := range l.Within(prefix) {
		if g.Decision == nil {
			open = append(open, g)
		}
	}
	return open
}

// WaitWithin returns the open ones of [Log.Within]. This run of the execution asks it all again.
func (l *Log) WaitWithin(prefix string) []*posthouse.Gate {
	for _, q := range l.questions {
		if strings.HasPrefix(q.name, prefix) && q.Last().Decision == nil {
			q.asked = true
		}
	}
	return l.openWithin(prefix)
}

// Undecided returns the gates that have no decision: all, or without the questions to people that
// this run has not asked yet.
func (l *Log) Undecided(all bool) (ids []posthouse.ID) {
	if l == nil {
		return nil
	}
	for _, g := range l.gates {
		if g.Decision == nil {
			ids = append(ids, g.ID)
		}
	}
	for _, q := range l.questions {
		if q.Last().Decision == nil && (all || q.asked) {
			ids = append(ids, q.Last().ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Stale returns the open gates for people that this run did not ask again.
func (l *Log) Stale() (ids []posthouse.ID) {
	if l == nil {
		return nil
	}
	for _, q := range l.questions {
		if !q.asked && q.Last().Decision == nil {
			ids = append(ids, q.Last().ID)
		}
	}
	return ids
}

// StillWaitsFor returns the gates that the execution waits for at a time. It returns nil if
// one was decided after the checkpoint at seq, or is overdue. Otherwise the execution, run
// again, would only ask again.
func (l *Log) StillWaitsFor(seq uint64, now time.Time) (open []*posthouse.Gate) {
	if l == nil {
		return nil
	}
	rests := func(g *posthouse.Gate) bool {
		switch {
		case g.Decision == nil && g.Kind == posthouse.GateThread: // that thread may have gone on
			return false
		case g.Decision != nil && g.Decision.Seq > seq, g.Decision == nil && !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt):
			return false
		case g.Decision == nil:
			open = append(open, g)
		}
		return true
	}
	for _, g := range l.gates {
		if !rests(g) {
			return nil
		}
	}
	for _, q := range l.questions {
		for i, g := range q.gates {
			if (i == len(q.gates)-1 || g.Decision != nil) && !rests(g) {
				return nil
			}
		}
	}
	for _, q := range l.questions {
		q.asked = true // they wait on
	}
	slices.SortFunc(open, func(a, b *posthouse.Gate) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	return open
}
