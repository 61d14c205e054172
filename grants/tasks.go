package grants

import (
	"github.com/posthouse/posthouse"
)

// openTasks are tasks with open gates: a handler has the effects that it let go.
type openTasks struct {
	by   map[useKey]posthouse.ID
	keys map[posthouse.ID]useKey
}

func (t *openTasks) note(generation uint32, r *posthouse.Record) {
	switch {
	case r.Gate != nil && r.Gate.Kind == posthouse.GateTask:
		t.open(generation, &posthouse.Gate{ID: r.Gate.ID, Branch: r.Gate.Branch, Task: r.Gate.Task, Name: r.Gate.Name, Occurrence: r.Gate.Occurrence})
	case r.Decision != nil:
		if key, ok := t.keys[r.Decision.Gate]; ok {
			if delete(t.keys, r.Decision.Gate); t.by[key] == r.Decision.Gate {
				delete(t.by, key)
			}
		}
	}
}

func (t *openTasks) open(generation uint32, g *posthouse.Gate) {
	key := useKey{generation, g.Branch, g.Task, g.Name, g.Occurrence}
	t.by[key], t.keys[g.ID] = g.ID, key
}

func (t *openTasks) isOpen(gate posthouse.ID) bool { _, ok := t.keys[gate]; return ok }

// around returns the open task with the handler that made an effect, "" for a program's
// effect.
func (t *openTasks) around(use *useKey) posthouse.ID {
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
