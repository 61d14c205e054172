package posthouse

import (
	"slices"
	"strings"
)

// labelEffect is the label that graphs put on the checkpoints of their nodes: the
// classes of what completed there, as in "external" or "read+write".
const labelEffect = "effect"

// A UseGatherer collects the effects of a log as its entries are added, in order.
type UseGatherer struct {
	uses []Use
	at   map[useKey]int
}

type useKey struct {
	generation         uint32
	branch, task, name string
	occurrence         uint32
}

// GatherUses begins a collection.
func GatherUses() *UseGatherer { return &UseGatherer{at: map[useKey]int{}} }

// Add takes in one record of an entry and returns the effect that it is about, nil
// if it is about none. The next call makes what it returned invalid.
func (g *UseGatherer) Add(e *Entry, i int, r *Record) *Use {
	if c := r.Checkpoint; c != nil && c.Kind == KindNode && slices.Contains(strings.Split(c.Labels[labelEffect], "+"), EffectExternal.String()) {
		g.uses = append(g.uses, Use{
			Generation: e.Generation, Branch: c.Branch, Name: c.Node, Status: GrantExecuted, Effect: EffectExternal,
			First: e.Seq, Seq: e.Seq, At: e.Time(), record: i,
		})
		return &g.uses[len(g.uses)-1]
	}
	s := r.Step
	if s == nil || s.Grant == "" && s.Effect != EffectExternal {
		return nil
	}
	name, n, what := s.call()
	switch what {
	case "", useReleased, useFailed:
	default:
		return nil // an attempt that failed, or a node among several, whose checkpoint says it
	}
	key := useKey{e.Generation, s.Branch, s.Task, name, n}
	at, known := g.at[key]
	if !known {
		at = len(g.uses)
		g.at[key] = at
		g.uses = append(g.uses, Use{
			Generation: e.Generation, Branch: s.Branch, Task: s.Task, Name: name, Occurrence: n, Status: GrantReleased, First: e.Seq,
		})
	}
	u := &g.uses[at]
	u.Seq, u.At, u.Effect, u.record = e.Seq, e.Time(), s.Effect, i
	if s.Grant != "" {
		u.Grant = s.Grant
	}
	switch what {
	case useReleased:
		u.released++
	case useFailed:
		u.Failed++
	default:
		u.Status = GrantExecuted
	}
	return u
}

// Uses returns what was collected. Held says that a run has the thread: what was
// let go and has no result is then still under way.
func (g *UseGatherer) Uses(held bool) []Use {
	for i := range g.uses {
		u := &g.uses[i]
		switch {
		case u.Status == GrantExecuted:
		case u.released <= u.Failed:
			u.Status = GrantDecided
		case !held:
			u.Status = GrantUnknown
		}
	}
	if g.uses == nil {
		return []Use{}
	}
	return g.uses
}

// What is on record within a step that acts under a grant.
const (
	useReleased = "$use"    // it is about to act
	useFailed   = "$failed" // it did not act
)

// call takes a step's name apart: the call that a record within a step belongs to,
// its number, and what the record is; "" for the call's own result.
func (s *StepInfo) call() (name string, n uint32, what string) {
	if i := strings.LastIndex(s.Name, ">$"); i >= 0 {
		name, n = callOf(s.Name[:i])
		return name, n, s.Name[i+1:]
	}
	if strings.HasPrefix(s.Name, "$") {
		return "", 0, s.Name
	}
	return s.Name, s.Occurrence, ""
}

// callOf takes a call as it is recorded in the names of what is within it apart:
// its name, and its number in brackets behind the first.
func callOf(call string) (name string, n uint32) {
	i := strings.LastIndexByte(call, '[')
	if i <= 0 || !strings.HasSuffix(call, "]") {
		return call, 0
	}
	for _, c := range call[i+1 : len(call)-1] {
		if c < '0' || c > '9' || n > 1<<28 {
			return call, 0
		}
		n = n*10 + uint32(c-'0')
	}
	return call[:i], n
}
