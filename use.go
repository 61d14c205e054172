package posthouse

import "strings"

// kindOutcome is the kind of the question about an effect whose outcome is not known.
const kindOutcome = "outcome"

// A useWaiting is what an effect waits for, and what it did before.
type useWaiting struct {
	parked    uint32 // the newest attempt that waits, from 1
	open      int    // gates that are not decided
	withdrawn bool   // one was, without an answer
	acted     bool   // results within it are on record
	unknown   bool   // a worker ended without a word on it, or people are asked what became of it
	places    []UsePlace
	begun     int // workers that had it, without those that say that they did not act
}

// A UsePlace is a record that a worker had an effect, or says that it did not act.
type UsePlace struct {
	Seq    uint64
	Index  int
	Undone bool
}

func (w *useWaiting) note(what string, seq uint64, i int) {
	undone := what == useUndone
	if undone {
		w.begun--
	} else {
		w.begun++
	}
	w.places = append(w.places, UsePlace{seq, i, undone})
}

// status returns how far an effect has come that waits: it goes on, unless what it waited for
// was withdrawn. Then it may have happened if anything of it had begun.
func (w *useWaiting) status() GrantStatus {
	switch {
	case w.unknown:
		return GrantUnknown
	case w.open > 0 || !w.withdrawn:
		return GrantReleased
	case w.begun > 0 || w.acted:
		return GrantUnknown
	}
	return GrantDecided
}

// Note reads what a record of an entry says of the effects that are known: what they wait for,
// what became of that, and what they did. It adds none.
func (g *UseGatherer) Note(e *Entry, r *Record) {
	g.tasks.note(e.Generation, r)
	switch {
	case r.Gate != nil:
		if u := g.around(e, r.Gate.Branch, r.Gate.Task, r.Gate.Name); u >= 0 {
			if r.Gate.Kind == kindOutcome {
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
		w.unknown = w.unknown || r.Decision.Verdict == Reject && w.begun > 0
		w.withdrawn = r.Decision.Verdict == Cancel && w.open == 0
	case r.Checkpoint != nil && r.Checkpoint.Status == StatusCancelled:
		for i := range g.uses {
			if u := &g.uses[i]; u.Branch == r.Checkpoint.Branch && u.Generation == e.Generation {
				u.waiting.withdrawn = true
			}
		}
	case r.Step != nil && r.Step.Effect != EffectPure && r.Step.Effect != EffectRead:
		if _, _, what := r.Step.call(); what != "" {
			return
		}
		if u := g.around(e, r.Step.Branch, r.Step.Task, r.Step.Name); u >= 0 {
			g.uses[u].waiting.acted = true
		}
	}
}

// around returns the effect that a name is within, -1 for none.
func (g *UseGatherer) around(e *Entry, branch, task, name string) int {
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

// Places returns where the log says which workers had an effect as a task.
func (u *Use) Places() []UsePlace { return u.waiting.places }

// openTasks are tasks whose gates are open: a handler has the effects that it let go.
type openTasks struct {
	by   map[useKey]ID
	keys map[ID]useKey
}

func (t *openTasks) note(generation uint32, r *Record) {
	switch {
	case r.Gate != nil && r.Gate.Kind == GateTask:
		t.open(generation, &Gate{ID: r.Gate.ID, Branch: r.Gate.Branch, Task: r.Gate.Task, Name: r.Gate.Name, Occurrence: r.Gate.Occurrence})
	case r.Decision != nil:
		if key, ok := t.keys[r.Decision.Gate]; ok {
			if delete(t.keys, r.Decision.Gate); t.by[key] == r.Decision.Gate {
				delete(t.by, key)
			}
		}
	}
}

func (t *openTasks) open(generation uint32, g *Gate) {
	key := useKey{generation, g.Branch, g.Task, g.Name, g.Occurrence}
	t.by[key], t.keys[g.ID] = g.ID, key
}

func (t *openTasks) isOpen(gate ID) bool { _, ok := t.keys[gate]; return ok }

// around returns the open task whose handler an effect is of, "" for that of a program.
func (t *openTasks) around(use *useKey) ID {
	for i := range use.name {
		if use.name[i] != '>' {
			continue
		}
		key := *use
		key.name, key.occurrence = callOf(use.name[:i])
		if gate, ok := t.by[key]; ok {
			return gate
		}
	}
	return ""
}

// OpenTask says that a task is open whose gate is in an entry before those that are added.
func (g *UseGatherer) OpenTask(generation uint32, gate *Gate) { g.tasks.open(generation, gate) }
