package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A frontier is what a graph has yet to run: the tasks of the next step, and
// what waits for other tasks first.
type frontier struct {
	tasks    []target            // End, alone: of a subgraph that was stopped behind its last node
	arrived  map[string][]string // by the node of a join: the sources that completed
	deferred []string            // nodes that run when there are no tasks left
	renamed  renames             // what is on record under old names
	names    names               // of the whole graph's

	call   string   // of a subgraph: the execution that called it
	step   uint64   // and the steps it took in this call
	parent []string // where the graph around goes on, if a command said so

	skipped int // steps since the last checkpoint that a completed step made

	// The step of the input, or of the update that led elsewhere, behind a run
	// that was lost: how far that one acted nobody knows, and so no execution
	// may get the name of one of its. 0: none was lost.
	epoch uint64
}

// ends reports whether nothing is left but to end.
func (g *frontier) ends() bool { return len(g.tasks) == 1 && g.tasks[0].node == End }

// planPart keeps what Header.Next cannot say of a frontier; most have none.
const planPart = "$plan"

// A planJSON is the wire form of a frontier.
type planJSON struct {
	Tasks    []taskJSON          `json:"tasks,omitempty"` // only if any was sent an input, renamed, or has run: otherwise Next names them
	Arrived  map[string][]string `json:"arrived,omitempty"`
	Deferred []string            `json:"deferred,omitempty"`
	Call     string              `json:"call,omitempty"` // of a subgraph, whose tasks are always listed
	Step     uint64              `json:"step,omitempty"`
	Parent   []string            `json:"parent,omitempty"`
	Skipped  int                 `json:"skipped,omitempty"`
	Era      uint64              `json:"era,omitempty"`
	Renamed  renames             `json:"renamed,omitempty"`
	Names    names               `json:"names,omitempty"`
}

type taskJSON struct {
	Node  string          `json:"node"`
	Was   string          `json:"was,omitempty"`
	Edges bool            `json:"edges,omitempty"` // it has run, and its transitions are to be followed
	Input json.RawMessage `json:"in,omitempty"`    // of codec json
	Codec string          `json:"codec,omitempty"` // of another
	Data  []byte          `json:"data,omitempty"`

	Timeout     time.Duration `json:"timeout,omitempty"` // ns
	IdleTimeout time.Duration `json:"idleTimeout,omitempty"`
}

func wireTask(t *target) taskJSON {
	w := taskJSON{Node: t.node, Was: t.was, Edges: t.edges, Timeout: t.timeout, IdleTimeout: t.idleTimeout}
	switch {
	case t.input == nil:
	case t.input.Codec == posthouse.JSON.Name():
		w.Input = t.input.Data
	default:
		w.Codec, w.Data = t.input.Codec, t.input.Data
	}
	return w
}

func (w *taskJSON) target() target {
	t := target{node: w.Node, was: w.Was, edges: w.Edges, timeout: w.Timeout, idleTimeout: w.IdleTimeout}
	switch {
	case w.Codec != "":
		t.input = &posthouse.Value{Codec: w.Codec, Data: w.Data}
	case w.Input != nil:
		t.input = &posthouse.Value{Codec: posthouse.JSON.Name(), Data: w.Input}
	}
	return t
}

// encodePlan returns the plan part, nil if Next says it all.
func (g *frontier) encodePlan() ([]byte, error) {
	named := slices.ContainsFunc(g.tasks, func(t target) bool { return t.input != nil || t.was != "" || t.edges })
	if !named && len(g.arrived)+len(g.deferred)+len(g.renamed)+len(g.names)+g.skipped == 0 && g.call == "" && g.epoch == 0 {
		return nil, nil
	}
	p := planJSON{Arrived: g.arrived, Deferred: g.deferred, Renamed: g.renamed, Names: g.names, Call: g.call, Step: g.step, Parent: g.parent, Skipped: g.skipped, Era: g.epoch}
	if named || g.call != "" {
		p.Tasks = make([]taskJSON, len(g.tasks))
		for i := range g.tasks {
			p.Tasks[i] = wireTask(&g.tasks[i])
		}
	}
	return json.Marshal(&p)
}

// readFrontier returns what a checkpoint has yet to run.
func readFrontier(next []string, program posthouse.State, part string) (frontier, error) {
	var p planJSON
	if v, ok := program[part]; ok {
		if err := json.Unmarshal(v.Data, &p); err != nil {
			return frontier{}, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "plan", Message: "of the checkpoint does not decode", Err: err,
				Hint: "it was written by another version of posthouse; move the thread with UpdateOptions.Goto",
			}
		}
	}
	g := frontier{
		arrived: p.Arrived, deferred: p.Deferred, renamed: p.Renamed, names: p.Names, call: p.Call, step: p.Step, parent: p.Parent, skipped: p.Skipped, epoch: p.Era,
		tasks: make([]target, 0, max(len(next), len(p.Tasks))),
	}
	for i := range p.Tasks {
		g.tasks = append(g.tasks, p.Tasks[i].target())
	}
	if len(p.Tasks) == 0 {
		for _, name := range next {
			g.tasks = append(g.tasks, target{node: name})
		}
	}
	if len(g.names) > 0 {
		for i := range g.tasks {
			g.tasks[i].was = unescapeName(g.names.of(escapeName(g.tasks[i].node)))
		}
	}
	return g, nil
}

// part returns the part to commit, if its bytes are not those on record.
func (g *frontier) part(part string, known []byte) (p posthouse.Part, enc []byte, changed bool, err error) {
	if enc, err = g.encodePlan(); err != nil || bytes.Equal(enc, known) {
		return p, known, false, err
	}
	return posthouse.Part{Name: part, Codec: posthouse.JSON.Name(), Data: enc, Drop: enc == nil}, enc, true, nil
}

// nextNames returns the nodes of the tasks, each once.
func (a *topology[S]) nextNames(g *frontier) []string {
	if len(g.tasks) == 1 {
		if n := a.node(&g.tasks[0]); n != nil {
			return n.alone
		}
	}
	return g.nodes()
}

func (g *frontier) nodes() (names []string) {
	for i := range g.tasks {
		if n := g.tasks[i].node; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// A completion is a task that completed, and where it leads.
type completion struct {
	of   *target // nil for an input
	next []target
}

// inputCompletion is the completion of an input.
func inputCompletion(next []target) completion { return completion{next: next} }

// taskCompletion is the completion of a node. One that the run stops behind arrives
// at joins later, when its transitions are followed.
func taskCompletion(t *target, next []target) completion {
	if len(next) == 1 && next[0].edges {
		return inputCompletion(next)
	}
	return completion{t, next}
}

// completer returns the node that completed, nil for an input.
func (a *topology[S]) completer(c *completion) *node[S] {
	if c.of == nil {
		return nil
	}
	return a.node(c.of)
}

// advanceFrontier makes n the frontier behind a step of g in which these completed, in
// order.
func (a *topology[S]) advanceFrontier(g, n *frontier, done []completion) error {
	*n = frontier{}
	n.call, n.step, n.skipped, n.epoch = g.call, g.step+1, g.skipped, g.epoch
	n.renamed, n.names = g.renamed, g.names
	if len(done) == 1 && len(g.arrived)+len(g.deferred) == 0 && a.leadsStraightOn(&done[0]) {
		n.tasks = done[0].next
		return nil
	}
	n.deferred = slices.Clone(g.deferred)
	n.arrived = make(map[string][]string, len(g.arrived))
	for to, from := range g.arrived {
		n.arrived[to] = slices.Clone(from)
	}
	seen := map[string]bool{}
	for i := range done {
		for _, t := range done[i].next {
			switch {
			case t.edges && slices.ContainsFunc(n.tasks, func(o target) bool { return o.edges && o.node == t.node }):
			case t.edges || t.input != nil:
				n.tasks = append(n.tasks, t)
			default:
				a.addNode(n, seen, t.node)
			}
		}
		a.arriveAtJoins(n, seen, a.completer(&done[i]))
	}
	if len(n.tasks) == 0 {
		for _, name := range n.deferred {
			n.tasks = append(n.tasks, target{node: name})
		}
		n.deferred = nil
	}
	if len(n.tasks) > 0 || len(n.arrived) == 0 {
		return nil
	}
	return a.unmetJoin(n)
}

// leadsStraightOn reports whether a completion leads to nothing but nodes that run next.
func (a *topology[S]) leadsStraightOn(c *completion) bool {
	if n := a.completer(c); n != nil && len(n.joins) > 0 {
		return false
	}
	return len(c.next) == 0 || len(c.next) == 1 && (c.next[0].input != nil || c.next[0].edges || !a.node(&c.next[0]).opt.Defer)
}

// addNode puts a node on the frontier, once.
func (a *topology[S]) addNode(g *frontier, seen map[string]bool, name string) {
	switch {
	case a.nodes[name].opt.Defer:
		if !slices.Contains(g.deferred, name) {
			g.deferred = append(g.deferred, name)
		}
	case !seen[name]:
		seen[name] = true
		g.tasks = append(g.tasks, target{node: name})
	}
}

// arriveAtJoins counts a completed node at the joins it is a source of.
func (a *topology[S]) arriveAtJoins(g *frontier, seen map[string]bool, n *node[S]) {
	if n == nil {
		return
	}
	for _, j := range n.joins {
		from := g.arrived[j.to]
		if !slices.Contains(from, n.name) {
			from = append(from, n.name)
		}
		if len(from) < len(j.from) {
			g.arrived[j.to] = from
			continue
		}
		delete(g.arrived, j.to)
		a.addNode(g, seen, j.to)
	}
}

// unmetJoin returns why a run cannot end: a join that nobody will complete.
func (a *topology[S]) unmetJoin(g *frontier) error {
	for _, n := range a.order {
		if from := g.arrived[n.name]; len(from) > 0 {
			e := &JoinError{Graph: a.name, Node: n.name, Arrived: from}
			for _, s := range n.join.from {
				if !slices.Contains(from, s) {
					e.Missing = append(e.Missing, s)
				}
			}
			return e
		}
	}
	return fmt.Errorf("graph: arrivals at unknown joins: %v", g.arrived)
}

// label tells the tasks of a step apart, in what separates names spelled.
func (t *target) label(node string, i int) string {
	node = escapeName(node)
	if t.input == nil {
		return node
	}
	return node + "#" + strconv.Itoa(i+1)
}

// taskKey names the execution of a task behind a step, by the step it makes. That is
// the same whoever takes it up, and whichever steps before it made checkpoints. A
// subgraph counts its steps by itself.
func (g *frontier) taskKey(step uint64, label string) engine.TaskKey {
	if g.call != "" {
		return engine.TaskKey{Label: g.call + ">" + strconv.FormatUint(g.step+1, 10) + "/" + label}
	}
	if step += 1 + uint64(g.skipped); g.epoch != 0 {
		return engine.TaskKey{Label: strconv.FormatUint(step, 10) + "+" + strconv.FormatUint(g.epoch, 10) + "/" + label}
	}
	return engine.TaskKey{Step: step, Label: label}
}
