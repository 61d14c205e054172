package grants

import (
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
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
	if what != "" && !effect.IsRecord(what) {
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
	m, known := effect.Mark{}, false
	if i < len(e.Bodies) { // what is still sealed does not read
		m, known = effect.ReadMark(e.Bodies[i])
	}
	switch what {
	case "":
		u.Status = Executed
	case effect.RecordBegins:
		u.handler = g.tasks.around(&key)
	case effect.RecordClaimed, effect.RecordUndone:
		u.places = append(u.places, Place{e.Seq, i, what == effect.RecordUndone})
	case effect.RecordFailed:
		known = known || effect.IsSettled(r.Size, r.Sealed)
	}
	u.use.Record(what, s.Occurrence, s.Grant, m, known)
	return u
}

// NeedsBody reports whether a record says less without its body than with it: an earlier version's
// word that an effect did not act, or that it failed after a part of it had.
func NeedsBody(r *posthouse.Record) bool {
	if r.Step == nil {
		return false
	}
	_, _, what := callOfStep(r.Step)
	return (what == effect.RecordFailed || what == effect.RecordParks) && !effect.IsSettled(r.Size, r.Sealed)
}

// Note reads what a record of an entry says of the known effects: what they wait for, what
// became of that, and what they did. It adds no effects.
func (g *Gatherer) Note(e *posthouse.Entry, r *posthouse.Record) {
	g.tasks.note(e.Generation, r)
	switch {
	case r.Gate != nil:
		if u := g.around(e, r.Gate.Branch, r.Gate.Task, r.Gate.Name); u >= 0 {
			g.gates[r.Gate.ID] = u
			g.uses[u].use.Opened(effect.Gate{ID: r.Gate.ID, Name: r.Gate.Name, Kind: r.Gate.Kind, Supersedes: r.Gate.Supersedes})
		}
	case r.Decision != nil:
		if u, ok := g.gates[r.Decision.Gate]; ok {
			delete(g.gates, r.Decision.Gate)
			g.uses[u].use.Decided(effect.Decision{Gate: r.Decision.Gate, Verdict: r.Decision.Verdict})
		}
	case r.Checkpoint != nil && r.Checkpoint.Status == posthouse.StatusCancelled:
		for i := range g.uses {
			if u := &g.uses[i]; u.Branch == r.Checkpoint.Branch && u.Generation == e.Generation {
				u.use.Cancelled()
			}
		}
	case r.Step != nil && r.Step.Effect != posthouse.EffectPure && r.Step.Effect != posthouse.EffectRead:
		if _, _, what := callOfStep(r.Step); what != "" {
			return
		}
		if u := g.around(e, r.Step.Branch, r.Step.Task, r.Step.Name); u >= 0 {
			g.uses[u].use.Inner(r.Step.Name, r.Step.Effect)
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
		u.Failed = u.use.Failed()
		switch s := u.use.State(); {
		case u.Status == Executed:
		case s == effect.Done:
			u.Status = Executed
		case s == effect.Licensed, s == effect.NotDone:
			u.Status = Decided
		case s == effect.Unknown, s == effect.GivenUp:
			u.Status = Unknown
		case s == effect.Waiting:
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
