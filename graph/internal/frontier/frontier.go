// Package frontier stores what a graph has yet to run: the tasks of the next step,
// arrivals at joins, deferred nodes, and what nodes are called on record.
//
// A [Frontier] is read from a checkpoint ([ReadFrontier]) and written as the part [PlanPart], in
// which the names of its fields never change. It knows no node's code.
package frontier

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Frontier is what a graph has yet to run: the tasks of the next step, and what waits
// for other tasks.
type Frontier struct {
	Tasks    []Target            `json:"-"`                  // End alone: a subgraph was stopped after its last node
	Arrived  map[string][]string `json:"arrived,omitempty"`  // by the node of a join: the sources that completed
	Deferred []string            `json:"deferred,omitempty"` // nodes that run when there are no tasks left
	Call     string              `json:"call,omitempty"`     // of a subgraph: the execution that called it
	Step     uint64              `json:"step,omitempty"`     // and the steps it took in this call
	Parent   []string            `json:"parent,omitempty"`   // where the graph around goes on, if a command said so
	Skipped  int                 `json:"skipped,omitempty"`  // steps since the last checkpoint of a completed step

	// Epoch keeps the names of executions of a lost run from being used again, since
	// it is unknown how far it acted. It is the step of the input or update after
	// that run; 0 if no run was lost.
	Epoch uint64 `json:"era,omitempty"`

	Renamed Renames `json:"renamed,omitempty"` // what is on record under old names
	Names   Names   `json:"names,omitempty"`   // of the whole graph
}

// endName is the name of the place after the last node.
const endName = "$end"

// Ends reports whether only the end is left.
func (g *Frontier) Ends() bool { return len(g.Tasks) == 1 && g.Tasks[0].Node == endName }

// PlanPart keeps what Header.Next cannot say of a frontier. Most checkpoints do
// without it.
const PlanPart = "$plan"

// A planJSON is the wire form of a frontier. It lists the tasks if one of them was
// sent an input, was renamed, began in an earlier step or has run, or if they are a
// subgraph's. Otherwise
// Header.Next names them.
type planJSON struct {
	Tasks []TaskJSON `json:"tasks,omitempty"`
	*Frontier
}

// EncodePlan returns the plan part, nil if Next says it all.
func (g *Frontier) EncodePlan() ([]byte, error) {
	named := slices.ContainsFunc(g.Tasks, func(t Target) bool { return t.Input != nil || t.Was != "" || t.Key != "" || t.Edges })
	if !named && len(g.Arrived)+len(g.Deferred)+len(g.Renamed)+len(g.Names)+g.Skipped == 0 && g.Call == "" && g.Epoch == 0 {
		return nil, nil
	}
	p := planJSON{Frontier: g}
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
	g := Frontier{}
	p := planJSON{Frontier: &g}
	if v, ok := program[part]; ok {
		if err := json.Unmarshal(v.Data, &p); err != nil {
			return Frontier{}, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "plan", Message: "of the checkpoint does not decode", Err: err,
				Hint: "it was written by another version of posthouse; move the thread with UpdateOptions.Goto",
			}
		}
	}
	g.Tasks = make([]Target, 0, max(len(next), len(p.Tasks)))
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
			g.Tasks[i].Was = UnescapeName(g.Names.Of(posthouse.EscapeName(g.Tasks[i].Node)))
		}
	}
	return g, nil
}

// Change returns the plan and the part that commits it. There is nothing to commit if
// the plan is known, the one on record.
func (g *Frontier) Change(part string, known []byte) (change []posthouse.Part, plan []byte, err error) {
	plan, err = g.EncodePlan()
	if err != nil || bytes.Equal(plan, known) {
		return nil, known, err
	}
	return []posthouse.Part{{Name: part, Codec: posthouse.JSON.Name(), Data: plan, Drop: plan == nil}}, plan, nil
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

// TaskKey names the execution of task i after a step, by the step that the task makes. The name
// does not depend on who runs it, or on which steps before it made checkpoints. A subgraph
// counts its own steps.
func (g *Frontier) TaskKey(step uint64, i int) engine.TaskKey {
	t := &g.Tasks[i]
	if t.Key != "" {
		return engine.TaskKey{Label: t.Key}
	}
	label := t.Label(cmp.Or(t.Was, t.Node), i)
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
