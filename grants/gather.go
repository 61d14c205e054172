package grants

import (
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// labelEffect is the label of a node's checkpoint that lists the effect classes
// completed there, as in "external" or "read+write".
const labelEffect = "effect"

// A Gatherer collects the effects of a log, as its entries are added in order.
type Gatherer struct {
	uses  []Use
	at    map[useKey]int
	gates map[posthouse.ID]int // of waits within uses, while they are open
	tasks openTasks
}

type useKey struct {
	generation         uint32
	branch, task, name string
	occurrence         uint32
}

// Gather returns an empty collection.
func Gather() *Gatherer {
	return &Gatherer{at: map[useKey]int{}, gates: map[posthouse.ID]int{}, tasks: openTasks{by: map[useKey]posthouse.ID{}, keys: map[posthouse.ID]useKey{}}}
}

// Add reads one record of an entry and returns the effect that it is about, or nil. The
// next call invalidates what it returned.
func (g *Gatherer) Add(e *posthouse.Entry, i int, r *posthouse.Record) *Use {
	if c := r.Checkpoint; c != nil && c.Kind == posthouse.KindNode && slices.Contains(strings.Split(c.Labels[labelEffect], "+"), posthouse.EffectExternal.String()) {
		g.uses = append(g.uses, Use{
			Generation: e.Generation, Branch: c.Branch, Name: c.Node, Status: Executed, Effect: posthouse.EffectExternal,
			First: e.Seq, Seq: e.Seq, At: e.Time(), Index: i,
		})
		return &g.uses[len(g.uses)-1]
	}
	s := r.Step
	g.Note(e, r)
	if r.Removal != nil {
		g.endBranches(r.Removal)
	}
	if s == nil || s.Grant == "" && s.Effect != posthouse.EffectExternal {
		return nil
	}
	name, n, what := callOfStep(s)
	switch what {
	case "", useReleased, useFailed, useParked, useClaimed, useUndone:
	default:
		return nil // a failed attempt, or one node of several: the checkpoint says so
	}
	key := useKey{e.Generation, s.Branch, s.Task, name, n}
	at, known := g.at[key]
	if !known {
		at = len(g.uses)
		g.at[key] = at
		g.uses = append(g.uses, Use{
			Generation: e.Generation, Branch: s.Branch, Task: s.Task, Name: name, Occurrence: n, Status: Released, First: e.Seq,
		})
	}
	u := &g.uses[at]
	u.Seq, u.At, u.Effect, u.Index = e.Seq, e.Time(), s.Effect, i
	if s.Grant != "" {
		u.Grant = s.Grant
	}
	switch what {
	case useReleased:
		u.released++
		u.handler = g.tasks.around(&key)
	case useFailed:
		u.Failed++
		u.waiting = useWaiting{open: u.waiting.open, places: u.waiting.places}
	case useParked:
		u.waiting.parked = s.Occurrence + 1
	case useClaimed, useUndone:
		u.waiting.note(what, e.Seq, i)
	default:
		u.Status = Executed
	}
	return u
}

// Note reads what a record of an entry says of the known effects: what they wait for, what
// became of that, and what they did. It adds no effects.
func (g *Gatherer) Note(e *posthouse.Entry, r *posthouse.Record) {
	g.tasks.note(e.Generation, r)
	switch {
	case r.Gate != nil:
		if u := g.around(e, r.Gate.Branch, r.Gate.Task, r.Gate.Name); u >= 0 {
			if r.Gate.Kind == posthouse.GateOutcome {
				g.uses[u].waiting.unknown = true
				return
			}
			g.gates[r.Gate.ID] = u
			g.uses[u].waiting.open++
			g.uses[u].waiting.withdrawn = false
		}
	case r.Decision != nil:
		u, ok := g.gates[r.Decision.Gate]
		if !ok {
			return
		}
		delete(g.gates, r.Decision.Gate)
		w := &g.uses[u].waiting
		w.open--
		w.unknown = w.unknown || r.Decision.Verdict == posthouse.Reject && w.begun > 0
		w.withdrawn = r.Decision.Verdict == posthouse.Cancel && w.open == 0
	case r.Checkpoint != nil && r.Checkpoint.Status == posthouse.StatusCancelled:
		for i := range g.uses {
			if u := &g.uses[i]; u.Branch == r.Checkpoint.Branch && u.Generation == e.Generation {
				u.waiting.withdrawn = true
			}
		}
	case r.Step != nil && r.Step.Effect != posthouse.EffectPure && r.Step.Effect != posthouse.EffectRead:
		if _, _, what := callOfStep(r.Step); what != "" {
			return
		}
		if u := g.around(e, r.Step.Branch, r.Step.Task, r.Step.Name); u >= 0 {
			g.uses[u].waiting.acted = true
		}
	}
}

// around returns the effect that a name is within, -1 if there is no such effect.
func (g *Gatherer) around(e *posthouse.Entry, branch, task, name string) int {
	for end := strings.IndexByte(name, '>'); end >= 0; {
		call, n := callOf(name[:end])
		if u, ok := g.at[useKey{e.Generation, branch, task, call, n}]; ok {
			return u
		}
		next := strings.IndexByte(name[end+1:], '>')
		if next < 0 {
			break
		}
		end += 1 + next
	}
	return -1
}

// endBranches closes the effects of deleted branches: what another branch of their name does later
// are other effects.
func (g *Gatherer) endBranches(m *posthouse.RemovalInfo) {
	for _, h := range m.Heads {
		if h.Head == "" {
			maps.DeleteFunc(g.at, func(k useKey, _ int) bool { return k.branch == h.Branch })
		}
	}
}

// Uses returns what was collected. With held, a run has the thread: an effect without a
// result is then still running.
func (g *Gatherer) Uses(held bool) []Use {
	for i := range g.uses {
		u := &g.uses[i]
		switch {
		case u.Status == Executed:
		case u.released <= u.Failed && u.waiting.begun == 0:
			u.Status = Decided
		case u.released <= u.Failed, u.waiting.parked > 0 && int(u.waiting.parked) == u.released:
			u.Status = u.waiting.status()
		case u.handler != "" && g.tasks.isOpen(u.handler): // its worker has it
		case u.handler != "", !held:
			u.Status = Unknown
		}
	}
	if g.uses == nil {
		return []Use{}
	}
	return g.uses
}

// OpenTask says that a task is open that has its gate in an entry before those that are
// added.
func (g *Gatherer) OpenTask(generation uint32, gate *posthouse.Gate) { g.tasks.open(generation, gate) }
