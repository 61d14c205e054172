package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// label tells the tasks of a step apart.
func (t *target) label(node string, i int) string {
	if t.input == nil {
		return node
	}
	return node + "#" + strconv.Itoa(i+1)
}

// A finishedTask is a task whose result is on record.
type finishedTask struct {
	target
	index   int // in the agenda
	writes  []write
	next    []target
	parent  []string // where the graph around a subgraph goes on
	program []posthouse.Part
}

// readDone reads the record of a completed task.
func (a *App[S]) readDone(data []byte, renamed map[string]string) (*finishedTask, error) {
	var d doneJSON
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	f := &finishedTask{parent: d.Parent}
	for _, j := range d.Writes {
		w := write{field: a.plan.part(j.Part), enc: j.Value, codec: posthouse.JSON.Name()}
		if j.Codec != "" {
			w.codec, w.enc = j.Codec, j.Data
		}
		if w.field != nil { // the state may have lost the part since
			f.writes = append(f.writes, w)
		}
	}
	for i := range d.Next {
		t := d.Next[i].target()
		t.node = cmp.Or(renamed[t.node], t.node)
		f.next = append(f.next, t)
	}
	for _, p := range d.Program {
		f.program = append(f.program, posthouse.Part(p))
	}
	return f, nil
}

// finished returns the tasks of an agenda that completed beside others which
// did not. latest says that h is its branch's head: otherwise only what was on
// record when it was made counts.
func (a *App[S]) finished(ctx context.Context, h *posthouse.Header, g *agenda, latest bool) (done []*finishedTask, err error) {
	if len(g.tasks) == 0 || len(g.tasks) == 1 && g.tasks[0].input == nil {
		return nil, nil
	}
	all, err := a.ledger.Executions(ctx, h)
	if err != nil {
		return nil, err
	}
	for i := range g.tasks {
		t := &g.tasks[i]
		key := engine.TaskKey{Step: h.Step + 1, Skipped: g.skipped, Label: t.label(cmp.Or(t.was, t.node), i)}
		x := all[key.String()]
		if x == nil {
			continue
		}
		for j := range x.Steps {
			if s := &x.Steps[j]; s.Name == recordDone && (latest || s.Seq <= h.Seq) {
				d, err := a.readDone(s.Value.Data, g.renamed)
				if err != nil {
					return nil, err
				}
				d.target, d.index = g.tasks[i], i
				done = append(done, d)
				break
			}
		}
	}
	return done, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
