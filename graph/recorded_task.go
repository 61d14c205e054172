package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/core"
)

// A resultJSON is the record of a completed task.
type resultJSON struct {
	Writes []writeJSON         `json:"writes,omitempty"`
	Next   []frontier.TaskJSON `json:"next,omitempty"`
	Parent []string            `json:"parent,omitempty"` // where the graph around a subgraph goes on
	By     string              `json:"by,omitempty"`     // the fingerprint of the whole graph, if nodes may be called otherwise on record

	Program []programJSON `json:"program,omitempty"`
}

// A programJSON is a change of a program's part.
type programJSON struct {
	Name   string `json:"name"`
	Codec  string `json:"codec,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Drop   bool   `json:"drop,omitempty"`
	Splice bool   `json:"splice,omitempty"`
	Prefix int    `json:"prefix,omitempty"`
	Suffix int    `json:"suffix,omitempty"`
}

type writeJSON struct {
	Part  string          `json:"part"`
	Value json.RawMessage `json:"value,omitempty"` // of codec json
	Codec string          `json:"codec,omitempty"` // of another
	Data  []byte          `json:"data,omitempty"`
	Over  bool            `json:"over,omitempty"` // the whole value, whatever the part's rule
}

// A recordedTask is a task whose result is on record.
type recordedTask struct {
	frontier.Target
	index   int // in the frontier
	writes  []state.Write
	next    []frontier.Target
	parent  []string // where the graph around a subgraph goes on
	program []posthouse.Part
}

// readRecordedTask reads the record of a completed task for the version by.
func (a *App[S]) readRecordedTask(data []byte, renamed frontier.Renames, by string) (*recordedTask, error) {
	var d resultJSON
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if d.By == by {
		renamed = nil
	}
	f := &recordedTask{parent: mapNames(d.Parent, func(name string) string {
		return frontier.UnescapeName(renamed.Node("../" + frontier.EscapeName(name)))
	})}
	for _, j := range d.Writes {
		w := state.Write{Field: a.schema.Part(j.Part), Data: j.Value, Codec: posthouse.JSON.Name(), Over: j.Over}
		if j.Codec != "" {
			w.Codec, w.Data = j.Codec, j.Data
		}
		if w.Field != nil { // the state may have lost the part since
			f.writes = append(f.writes, w)
		}
	}
	for i := range d.Next {
		t := d.Next[i].Target()
		t.Node = frontier.UnescapeName(renamed.Node(frontier.EscapeName(t.Node)))
		f.next = append(f.next, t)
	}
	for _, p := range d.Program {
		p.Name = renamedPart(renamed, p.Name)
		f.program = append(f.program, posthouse.Part(p))
	}
	return f, nil
}

// recordedTasks returns the tasks of a frontier that completed beside others which
// did not. latest says that h is its branch's head: otherwise only what was on
// record when it was made counts.
func (a *App[S]) recordedTasks(ctx context.Context, h *posthouse.Header, g *frontier.Frontier, latest bool) (done []*recordedTask, err error) {
	if g.IsAlone() {
		return nil, nil
	}
	p := &progress{head: h, latest: latest, by: a.fingerprint}
	if p.all, err = a.ledger.Core().Executions(ctx, h); err != nil {
		return nil, err
	}
	return a.recordedTasksOf(p, g)
}

// A progress is what is on record of tasks behind a checkpoint.
type progress struct {
	head   *posthouse.Header
	latest bool   // it is its branch's head
	by     string // the fingerprint of the version that looks at it
	all    map[string]*core.Execution
}

// execution returns what is on record of a task of a frontier, nil for nothing.
func (p *progress) execution(g *frontier.Frontier, i int) *core.Execution {
	t := &g.Tasks[i]
	key := g.TaskKey(p.head.Step, t.Label(cmp.Or(t.Was, t.Node), i))
	return p.all[key.String()]
}

// step returns a record of a task of a frontier, nil if there is none.
func (p *progress) step(g *frontier.Frontier, i int, name string) *posthouse.Step {
	x := p.execution(g, i)
	if x == nil {
		return nil
	}
	for j := range x.Steps {
		if s := &x.Steps[j]; s.Name == name && (p.latest || s.Seq <= p.head.Seq) {
			return &s.Step
		}
	}
	return nil
}

func (a *App[S]) recordedTasksOf(p *progress, g *frontier.Frontier) (done []*recordedTask, err error) {
	if g.IsAlone() {
		return nil, nil
	}
	for i := range g.Tasks {
		s := p.step(g, i, stepDone)
		if s == nil {
			continue
		}
		d, err := a.readRecordedTask(s.Value.Data, g.Renamed, p.by)
		if err != nil {
			return nil, err
		}
		d.Target, d.index = g.Tasks[i], i
		done = append(done, d)
	}
	return done, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
