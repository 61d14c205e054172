// Package frontier is what a graph has yet to run, as it is stored: the tasks of the
// next step, arrivals at joins, deferred nodes, and what nodes are called on record.
//
// A [Frontier] is read from a checkpoint ([ReadFrontier]) and written as the part
// [PlanPart], in which the names of its fields never change. It knows no node's code.
// The package imports the root package and internal/engine.
package frontier

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Frontier is what a graph has yet to run: the tasks of the next step, and
// what waits for other tasks first.
type Frontier struct {
	Tasks    []Target            // End, alone: of a subgraph that was stopped behind its last node
	Arrived  map[string][]string // by the node of a join: the sources that completed
	Deferred []string            // nodes that run when there are no tasks left
	Renamed  Renames             // what is on record under old names
	Names    Names               // of the whole graph's

	Call   string   // of a subgraph: the execution that called it
	Step   uint64   // and the steps it took in this call
	Parent []string // where the graph around goes on, if a command said so

	Skipped int // steps since the last checkpoint that a completed step made

	// The step of the input, or of the update that led elsewhere, behind a run
	// that was lost: how far that one acted nobody knows, and so no execution
	// may get the name of one of its. 0: none was lost.
	Epoch uint64
}

// endName is the name of the place behind the last node.
const endName = "$end"

// Ends reports whether nothing is left but to end.
func (g *Frontier) Ends() bool { return len(g.Tasks) == 1 && g.Tasks[0].Node == endName }

// PlanPart keeps what Header.Next cannot say of a frontier; most have none.
const PlanPart = "$plan"

// A planJSON is the wire form of a frontier.
type planJSON struct {
	Tasks    []TaskJSON          `json:"tasks,omitempty"` // only if any was sent an input, renamed, or has run: otherwise Next names them
	Arrived  map[string][]string `json:"arrived,omitempty"`
	Deferred []string            `json:"deferred,omitempty"`
	Call     string              `json:"call,omitempty"` // of a subgraph, whose tasks are always listed
	Step     uint64              `json:"step,omitempty"`
	Parent   []string            `json:"parent,omitempty"`
	Skipped  int                 `json:"skipped,omitempty"`
	Era      uint64              `json:"era,omitempty"`
	Renamed  Renames             `json:"renamed,omitempty"`
	Names    Names               `json:"names,omitempty"`
}

// EncodePlan returns the plan part, nil if Next says it all.
func (g *Frontier) EncodePlan() ([]byte, error) {
	named := slices.ContainsFunc(g.Tasks, func(t Target) bool { return t.Input != nil || t.Was != "" || t.Edges })
	if !named && len(g.Arrived)+len(g.Deferred)+len(g.Renamed)+len(g.Names)+g.Skipped == 0 && g.Call == "" && g.Epoch == 0 {
		return nil, nil
	}
	p := planJSON{Arrived: g.Arrived, Deferred: g.Deferred, Renamed: g.Renamed, Names: g.Names, Call: g.Call, Step: g.Step, Parent: g.Parent, Skipped: g.Skipped, Era: g.Epoch}
	if named || g.Call != "" {
		p.Tasks = make([]TaskJSON, len(g.Tasks))
		for i := range g.Tasks {
			p.Tasks[i] = WireTask(&g.Tasks[i])
		}
	}
	return json.Marshal(&p)
}

// ReadFrontier returns what a checkpoint has yet to run.
func ReadFrontier(next []string, program posthouse.State, part string) (Frontier, error) {
	var p planJSON
	if v, ok := program[part]; ok {
		if err := json.Unmarshal(v.Data, &p); err != nil {
			return Frontier{}, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "plan", Message: "of the checkpoint does not decode", Err: err,
				Hint: "it was written by another version of posthouse; move the thread with UpdateOptions.Goto",
			}
		}
	}
	g := Frontier{
		Arrived: p.Arrived, Deferred: p.Deferred, Renamed: p.Renamed, Names: p.Names, Call: p.Call, Step: p.Step, Parent: p.Parent, Skipped: p.Skipped, Epoch: p.Era,
		Tasks: make([]Target, 0, max(len(next), len(p.Tasks))),
	}
	for i := range p.Tasks {
		g.Tasks = append(g.Tasks, p.Tasks[i].Target())
	}
	if len(p.Tasks) == 0 {
		for _, name := range next {
			g.Tasks = append(g.Tasks, Target{Node: name})
		}
	}
	if len(g.Names) > 0 {
		for i := range g.Tasks {
			g.Tasks[i].Was = UnescapeName(g.Names.Of(EscapeName(g.Tasks[i].Node)))
		}
	}
	return g, nil
}

// Part returns the part to commit, if its bytes are not those on record.
func (g *Frontier) Part(part string, known []byte) (p posthouse.Part, enc []byte, changed bool, err error) {
	if enc, err = g.EncodePlan(); err != nil || bytes.Equal(enc, known) {
		return p, known, false, err
	}
	return posthouse.Part{Name: part, Codec: posthouse.JSON.Name(), Data: enc, Drop: enc == nil}, enc, true, nil
}

// Nodes returns the names of the nodes of the tasks, each once.
func (g *Frontier) Nodes() (names []string) {
	for i := range g.Tasks {
		if n := g.Tasks[i].Node; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// TaskKey names the execution of a task behind a step, by the step it makes. That is
// the same whoever takes it up, and whichever steps before it made checkpoints. A
// subgraph counts its steps by itself.
func (g *Frontier) TaskKey(step uint64, label string) engine.TaskKey {
	if g.Call != "" {
		return engine.TaskKey{Label: g.Call + ">" + strconv.FormatUint(g.Step+1, 10) + "/" + label}
	}
	if step += 1 + uint64(g.Skipped); g.Epoch != 0 {
		return engine.TaskKey{Label: strconv.FormatUint(step, 10) + "+" + strconv.FormatUint(g.Epoch, 10) + "/" + label}
	}
	return engine.TaskKey{Step: step, Label: label}
}

// IsAlone reports whether no task is to run beside others.
func (g *Frontier) IsAlone() bool {
	return len(g.Tasks) == 0 || len(g.Tasks) == 1 && g.Tasks[0].Input == nil
}
