// Package recorded encodes the result of a task that completed beside others: its
// writes and where it leads, in a form with names that never change. It also says how
// far the tasks of a frontier are.
package recorded

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Done is the name under which a task that completed is on record.
const Done = "$done"

type resultJSON struct {
	Writes []writeJSON         `json:"writes,omitempty"`
	Next   []frontier.TaskJSON `json:"next,omitempty"`
	Parent []string            `json:"parent,omitempty"` // where the graph around a subgraph goes on
	By     string              `json:"by,omitempty"`     // the fingerprint of the whole graph, if nodes may have old names on record

	Program []programJSON `json:"program,omitempty"`
}

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

// A Task is a task with a recorded result.
type Task struct {
	frontier.Target
	Index   int // in the frontier
	Writes  []state.Write
	Lost    []string // parts that it wrote, and the state does not have
	Next    []frontier.Target
	Parent  []string // where the graph around a subgraph goes on
	Program []posthouse.Part
}

// Encode returns the record. by is the fingerprint of the version that writes it, if
// nodes may have old names on record.
func (t *Task) Encode(by string) (posthouse.Value, error) {
	d := resultJSON{Parent: t.Parent, By: by}
	for _, w := range t.Writes {
		j := writeJSON{Part: w.Field.Part, Over: w.Over}
		if w.Codec == posthouse.JSON.Name() {
			j.Value = w.Data
		} else {
			j.Codec, j.Data = w.Codec, w.Data
		}
		d.Writes = append(d.Writes, j)
	}
	for i := range t.Next {
		d.Next = append(d.Next, frontier.WireTask(&t.Next[i]))
	}
	for _, p := range t.Program {
		d.Program = append(d.Program, programJSON(p))
	}
	data, err := json.Marshal(&d)
	return posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}, err
}

// Read reads the record of a task for the version by, with the schema of its state.
func Read(schema *state.Schema, data []byte, renamed frontier.Renames, by string) (*Task, error) {
	var d resultJSON
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if d.By == by {
		renamed = nil
	}
	f := &Task{}
	for _, name := range d.Parent {
		f.Parent = append(f.Parent, frontier.UnescapeName(renamed.Node("../"+posthouse.EscapeName(name))))
	}
	for _, j := range d.Writes {
		w := state.Write{Field: schema.Part(j.Part), Data: j.Value, Codec: posthouse.JSON.Name(), Over: j.Over}
		if j.Codec != "" {
			w.Codec, w.Data = j.Codec, j.Data
		}
		if w.Field == nil {
			f.Lost = append(f.Lost, j.Part)
			continue
		}
		f.Writes = append(f.Writes, w)
	}
	for i := range d.Next {
		t := d.Next[i].Target()
		t.Node = frontier.UnescapeName(renamed.Node(posthouse.EscapeName(t.Node)))
		f.Next = append(f.Next, t)
	}
	for _, p := range d.Program {
		p.Name = subparts.Renamed(renamed, p.Name)
		f.Program = append(f.Program, posthouse.Part(p))
	}
	return f, nil
}

// A Progress is what is on record of tasks after a checkpoint. If that is not its
// branch's head (Latest), only what was on record when it was made counts.
type Progress struct {
	Head   *posthouse.Header
	Latest bool
	By     string // the fingerprint of the version that looks at it
	All    map[string]*threadlog.Execution
}

// Execution returns what is on record of a task of a frontier, or nil.
func (p *Progress) Execution(g *frontier.Frontier, i int) *threadlog.Execution {
	key := g.TaskKey(p.Head.Step, i)
	return p.All[key.String()]
}

// Began returns the name of the execution of a task, if the task or a subgraph that it
// runs has something on record, or "".
func (p *Progress) Began(g *frontier.Frontier, i int) string {
	key := g.TaskKey(p.Head.Step, i)
	name := key.String()
	for other, x := range p.All {
		if within(other, name) && p.hasBegun(x) {
			return name
		}
	}
	return ""
}

// hasBegun reports whether something counts that an execution has on record. A branch at a
// past checkpoint does not have what was recorded since: there the execution begins.
func (p *Progress) hasBegun(x *threadlog.Execution) bool {
	return p.Latest ||
		slices.ContainsFunc(x.Steps, func(s posthouse.StepRecord) bool { return s.Seq <= p.Head.Seq }) ||
		slices.ContainsFunc(x.Gates, func(q *posthouse.Gate) bool { return q.Seq <= p.Head.Seq })
}

// Left returns the open gates of called threads, except those of the executions that go
// on.
func (p *Progress) Left(on []string) (gates []posthouse.ID) {
	for name, x := range p.All {
		if slices.ContainsFunc(on, func(n string) bool { return n != "" && within(name, n) }) {
			continue
		}
		for _, q := range x.Gates {
			if q.Kind == posthouse.GateThread && q.Decision == nil {
				gates = append(gates, q.ID)
			}
		}
	}
	slices.Sort(gates)
	return gates
}

// within reports whether an execution is the named one, or of a subgraph in it.
func within(execution, name string) bool {
	rest, ok := strings.CutPrefix(execution, name)
	return ok && (rest == "" || rest[0] == '>')
}

// Step returns a record of a task of a frontier, or nil.
func (p *Progress) Step(g *frontier.Frontier, i int, name string) *posthouse.Step {
	x := p.Execution(g, i)
	if x == nil {
		return nil
	}
	for j := range x.Steps {
		if s := &x.Steps[j]; s.Name == name && (p.Latest || s.Seq <= p.Head.Seq) {
			return &s.Step
		}
	}
	return nil
}

// Tasks returns the tasks of a frontier that completed beside others which did not.
func (p *Progress) Tasks(schema *state.Schema, g *frontier.Frontier) (done []*Task, err error) {
	if g.IsAlone() {
		return nil, nil
	}
	for i := range g.Tasks {
		s := p.Step(g, i, Done)
		if s == nil {
			continue
		}
		d, err := Read(schema, s.Value.Data, g.Renamed, p.By)
		if err != nil {
			return nil, err
		}
		d.Target, d.Index = g.Tasks[i], i
		done = append(done, d)
	}
	return done, nil
}
