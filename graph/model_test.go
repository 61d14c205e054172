package graph_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// This file is a graph as a plain program would run it: one task after
// another, no ledger, no faults. TestRandomGraphs compares the two.

// A mixed is a state with a part for each way to merge.
type mixed struct {
	Log    []string `posthouse:"append"`
	Sum    int      `posthouse:"sum"`
	Max    int      `posthouse:"max"`
	Min    int      `posthouse:"min"`
	Mean   graph.Mean
	First  string         `posthouse:"first"`
	Last   string         `posthouse:"last"`
	Long   string         `posthouse:"longest"`
	Set    []string       `posthouse:"set"`
	Map    map[string]int `posthouse:"merge"`
	Own    string
	Custom int

	Call string         // which call of a subgraph it is of; empty for the graph that is run
	Runs map[string]int `posthouse:"merge"` // how often nodes completed, by name

	maxed, minned bool `posthouse:"-"` // of the model: Max and Min were once not 0
}

func (s *mixed) String() string { return fmt.Sprintf("%+v", *s) }

// note follows what is on record once a step, or an input, is.
func (s *mixed) note() {
	s.maxed, s.minned = s.maxed || s.Max != 0, s.minned || s.Min != 0
}

func custom(base int, writes []int) (int, error) {
	for _, w := range writes {
		base = (base*31 + w) % 1_000_003
	}
	return base, nil
}

type nodeKind int

const (
	nodePlain nodeKind = iota
	nodeCommand
	nodeTask
	nodeSub
)

// A nodePlan says what a node does and where it leads.
type nodePlan struct {
	Name     string            `json:",omitempty"`
	Kind     nodeKind          `json:",omitempty"`
	Writes   uint              `json:",omitempty"` // by bit, see work
	N        int               `json:",omitempty"` // what it writes
	Steps    int               `json:",omitempty"`
	Ask      bool              `json:",omitempty"`
	Fails    int               `json:",omitempty"` // the first so many attempts of each execution
	Panics   bool              `json:",omitempty"`
	Retry    int               `json:",omitempty"`
	Delay    bool              `json:",omitempty"` // between attempts
	Jitter   float64           `json:",omitempty"`
	Backoff  posthouse.Backoff `json:",omitempty"`
	Handled  bool              `json:",omitempty"` // it fails always, and has a handler
	Defer    bool              `json:",omitempty"`
	Before   bool              `json:",omitempty"` // static interrupts
	After    bool              `json:",omitempty"`
	Snap     graph.Snapshots   `json:",omitempty"`
	To       []int             `json:",omitempty"` // later nodes; empty: End
	Loops    int               `json:",omitempty"` // so often it leads to Back instead
	Back     int               `json:",omitempty"`
	Sends    map[int]int       `json:",omitempty"` // tasks, and how many inputs each is sent
	Join     []int             `json:",omitempty"` // its sources; empty: edges lead to it
	Sub      *graphPlan        `json:",omitempty"`
	Lifetime graph.Lifetime    `json:",omitempty"`
	Own      bool              `json:",omitempty"` // the subgraph has a thread of its own
	Renamed  bool              `json:",omitempty"` // it has another name than in the version before
}

type graphPlan struct {
	Nodes []*nodePlan
	Start []int
}

// work is what an execution of a node, of that name, does to the state.
func (n *nodePlan) work(s *mixed, input int, notes, name string) {
	k := (n.N + 7*input) % 50
	bit := func(b uint) bool { return n.Writes&(1<<b) != 0 }
	if bit(0) {
		s.Log = append(s.Log, fmt.Sprintf("%s%d%s", n.Name, input, notes))
	}
	if bit(1) {
		s.Sum += k
	}
	if bit(2) {
		s.Max = k
	}
	if bit(3) {
		s.Min = k
	}
	if bit(4) {
		s.Mean.Add(float64(k))
	}
	if bit(5) {
		s.First = n.Name
	}
	if bit(6) {
		s.Last = n.Name
	}
	if bit(7) {
		s.Long = strings.Repeat(n.Name[:1], k)
	}
	if bit(8) && !slices.Contains(s.Set, n.Name) {
		s.Set = append(s.Set, n.Name)
	}
	if bit(9) {
		if s.Map == nil {
			s.Map = map[string]int{}
		}
		s.Map[fmt.Sprint(n.Name, input)] += k
	}
	if bit(10) {
		s.Own = fmt.Sprint("own", len(s.Own)%3)
	}
	if bit(11) && n.Writes%11 == 0 {
		s.Own = n.Name // may contradict another's
	}
	if bit(12) {
		s.Custom = k
	}
	if n.Loops > 0 {
		if s.Map == nil {
			s.Map = map[string]int{}
		}
		s.Map["loop "+n.Name]++
	}
	n.count(s, name)
}

// notes is what a node's steps and answers leave in the log.
func (n *nodePlan) notes() string {
	if n.Handled {
		return "!h"
	}
	v := ""
	for i := range n.Steps {
		v += fmt.Sprint("s", i)
		if i == 0 && n.Ask {
			v += "?"
		}
	}
	if n.Ask && n.Steps == 0 {
		v += "?"
	}
	return v
}

// loops reports whether the node leads back once more.
func (n *nodePlan) loops(s *mixed) bool { return n.Loops > 0 && s.Map["loop "+n.Name] <= n.Loops }

// name tells an execution of a node, not of a task, from all others in the
// whole of a run, by the state that it finds. Whatever a run calls things, or
// where it keeps them, this is what must happen once.
func (n *nodePlan) name(s *mixed) string {
	return fmt.Sprint(s.Call, "/", n.Name, "@", s.Runs[n.Name])
}

// name is that of the task which is sent an input.
func (in sent) name(n *nodePlan) string { return fmt.Sprint(in.From, "/", n.Name, "#", in.N) }

// A sent is the input of a task: the so-maniest that the sender sends it.
type sent struct {
	N    int
	From string // the execution that sent it
}

// count notes that an execution completed. An execution with an unused name
// leaves no trace, so that there are nodes which change nothing.
func (n *nodePlan) count(s *mixed, name string) {
	switch {
	case n.Kind == nodeTask && n.Sends == nil:
		return
	case n.Kind == nodeTask:
		name = "task " + name
	case n.nameless():
		return
	default:
		name = n.Name
	}
	if s.Runs == nil {
		s.Runs = map[string]int{}
	}
	s.Runs[name]++
}

// nameless reports whether there is nothing to tell the executions of a node
// apart by: they have no effects and send nothing.
func (n *nodePlan) nameless() bool {
	return n.Kind != nodeTask && n.Kind != nodeSub && n.Steps == 0 && !n.Ask && n.Fails == 0 && n.Sends == nil
}

// sender returns the name of the execution that left the state.
func (n *nodePlan) sender(s *mixed) string {
	if n.Kind == nodeTask {
		for name := range s.Runs {
			return strings.TrimPrefix(name, "task ")
		}
	}
	return fmt.Sprint(s.Call, "/", n.Name, "@", s.Runs[n.Name]-1)
}

func (n *nodePlan) subInput(s *mixed) mixed {
	return mixed{Log: []string{"in"}, Sum: rest(s.Sum, 7), Max: 3, Call: n.name(s)}
}

// rest is what is left of a number, and not negative: [trial.within] adds
// multiples of what it is taken by.
func rest(n, by int) int { return (n%by + by) % by }

func (n *nodePlan) subOutput(s, in *mixed) {
	s.Log = append(s.Log, n.Name+"<"+strings.Join(in.Log, ",")+">")
	s.Sum += rest(in.Sum, 11)
	s.Last = in.Last
	n.count(s, "")
}

// A model runs graph plans.
type model struct {
	snapshots graph.Snapshots   // of the whole
	kept      map[string]*mixed // states of subgraphs that outlive a call, by path
	own       map[string]bool   // paths of subgraphs with threads of their own
	ran       int
	effects   map[string]bool // names of steps that are done, once each; false for those that may be left out
	shots     []string        // steps of the outermost graph that make checkpoints

	hands   map[int]*hand // what is done by hand, by steps of the outermost graph
	steps   int           // that it took
	refused map[int]bool  // of the hands
	task    map[int]int   // as which one a hand acts
}

func newModel(s graph.Snapshots) *model {
	return &model{
		snapshots: s, kept: map[string]*mixed{}, own: map[string]bool{}, effects: map[string]bool{}, refused: map[int]bool{}, task: map[int]int{},
	}
}

type todo struct {
	node  int
	input sent // N is 0 if no input was sent
}

// does notes the effects of an execution.
func (m *model) does(n *nodePlan, name string) {
	for i := range n.Steps {
		m.effects[fmt.Sprint(name, ":s", i)] = !n.Handled // which of its attempts fail, and how far they come, is left to chance
	}
	if n.Handled {
		m.effects[name+":h"] = true
	}
}

// shoots notes a step of the outermost graph, if it makes a checkpoint.
func (m *model) shoots(g *graphPlan, step, next []todo) {
	of := func(t todo) graph.Snapshots {
		for _, s := range []graph.Snapshots{g.Nodes[t.node].Snap, m.snapshots} {
			if s != graph.SnapshotDefault {
				return s
			}
		}
		return graph.SnapshotAfter
	}
	shot, names := len(next) == 0, []string(nil)
	for _, t := range step {
		n, s := g.Nodes[t.node], of(t)
		shot = shot || n.After || s == graph.SnapshotAfter || s == graph.SnapshotBoth
		if !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	for _, t := range next {
		s := of(t)
		shot = shot || g.Nodes[t.node].Before || s == graph.SnapshotBefore || s == graph.SnapshotBoth
	}
	if shot {
		m.shots = append(m.shots, strings.Join(names, "+"))
	}
}

// run returns the state that the graph ends in, or in which it fails for good,
// and why it does.
func (m *model) run(g *graphPlan, path string, s *mixed) (why string) {
	s.note()
	arrived := map[int][]int{}
	var deferred []int
	next := m.follow(g, nil, s, g.Start, nil, arrived, &deferred)
	if path == "" {
		next = m.hand(g, s, next, arrived, &deferred)
	}
	for len(next) > 0 {
		m.ran += len(next)
		step := next
		next = nil
		base := *clone(s)
		var after []*mixed
		for _, t := range step {
			n := g.Nodes[t.node]
			own := clone(&base)
			name := n.name(own)
			if t.input.N > 0 {
				own, name = &mixed{}, t.input.name(n)
			}
			if n.Kind == nodeSub {
				if why := m.sub(n, path, own); why != "" {
					return why
				}
			} else {
				input := t.input.N
				if n.Handled {
					input = 0 // a handler is not given any
				}
				m.does(n, name)
				n.work(own, input, n.notes(), name)
			}
			after = append(after, own)
		}
		merged := merge(&base, step, after)
		if merged == nil {
			return "merge"
		}
		seen := map[int]bool{}
		for i, t := range step {
			next = append(next, m.follow(g, &t, after[i], nil, seen, arrived, &deferred)...)
		}
		if len(next) == 0 {
			for _, d := range deferred {
				next = append(next, todo{node: d})
			}
			deferred = nil
		}
		if len(next) == 0 {
			for _, from := range arrived {
				if len(from) > 0 {
					return "join"
				}
			}
		}
		if path == "" {
			m.shoots(g, step, next)
		}
		*s = *merged
		s.note()
		if path == "" {
			next = m.hand(g, s, next, arrived, &deferred)
		}
	}
	return ""
}

// follow returns what runs after a node, nil for Start.
func (m *model) follow(g *graphPlan, t *todo, s *mixed, to []int, seen map[int]bool, arrived map[int][]int, deferred *[]int) (next []todo) {
	if seen == nil {
		seen = map[int]bool{}
	}
	enlist := func(i int) {
		switch {
		case g.Nodes[i].Defer:
			if !slices.Contains(*deferred, i) {
				*deferred = append(*deferred, i)
			}
		case !seen[i]:
			seen[i] = true
			next = append(next, todo{node: i})
		}
	}
	if t != nil {
		n := g.Nodes[t.node]
		to = n.To
		if n.loops(s) {
			to = []int{n.Back}
		}
		for _, i := range to {
			enlist(i)
		}
		for _, i := range slices.Sorted(maps.Keys(n.Sends)) {
			for k := range n.Sends[i] {
				next = append(next, todo{i, sent{k + 1, n.sender(s)}})
			}
		}
		for i, j := range g.Nodes {
			if !slices.Contains(j.Join, t.node) {
				continue
			}
			if !slices.Contains(arrived[i], t.node) {
				arrived[i] = append(arrived[i], t.node)
			}
			if len(arrived[i]) == len(j.Join) {
				delete(arrived, i)
				enlist(i)
			}
		}
		return next
	}
	for _, i := range to {
		enlist(i)
	}
	if len(next) == 0 {
		for _, d := range *deferred {
			next = append(next, todo{node: d})
		}
		*deferred = nil
	}
	return next
}

// sub calls a subgraph.
func (m *model) sub(n *nodePlan, path string, s *mixed) (why string) {
	path += "/" + n.Name
	in := n.subInput(s)
	own := &in
	m.own[path] = n.Own
	if n.Lifetime == graph.PerThread {
		if kept := m.kept[path]; kept != nil {
			own = clone(kept)
			own.Log = append(own.Log, in.Log...)
			if in.Sum != 0 {
				own.Sum = in.Sum
			}
			own.Max, own.Call = in.Max, in.Call
		}
	}
	if why := m.run(n.Sub, path, own); why != "" {
		return why
	}
	if n.Lifetime == graph.PerThread {
		m.kept[path] = own
	} else {
		maps.DeleteFunc(m.kept, func(p string, _ *mixed) bool {
			return strings.HasPrefix(p, path+"/") && (n.Own || !m.outlives(path, p))
		})
	}
	n.subOutput(s, own)
	return ""
}

// outlives reports whether what a subgraph keeps does not end with a call
// around it, being in a thread of another name.
func (m *model) outlives(call, path string) bool {
	for ; path != call; path = path[:strings.LastIndex(path, "/")] {
		if m.own[path] {
			return true
		}
	}
	return false
}

func clone(s *mixed) *mixed {
	c := *s
	c.Log, c.Set, c.Map, c.Runs = slices.Clone(s.Log), slices.Clone(s.Set), maps.Clone(s.Map), maps.Clone(s.Runs)
	return &c
}

// merge returns what becomes of the base, nil if two tasks contradict each
// other.
func merge(base *mixed, tasks []todo, after []*mixed) *mixed {
	out := clone(base)
	var max, min, cust []int
	var own, long []string
	keys := map[string]int{}
	for i, a := range after {
		b := base
		if tasks[i].input.N > 0 {
			b = &mixed{}
		}
		out.Log = append(out.Log, a.Log[len(b.Log):]...)
		out.Sum += a.Sum - b.Sum
		out.Mean.Sum, out.Mean.Count = out.Mean.Sum+a.Mean.Sum-b.Mean.Sum, out.Mean.Count+a.Mean.Count-b.Mean.Count
		if a.Max != b.Max {
			max = append(max, a.Max)
		}
		if a.Min != b.Min {
			min = append(min, a.Min)
		}
		if a.Custom != b.Custom {
			cust = append(cust, a.Custom)
		}
		if a.First != b.First && out.First == "" {
			out.First = a.First
		}
		if a.Last != b.Last {
			out.Last = a.Last
		}
		if a.Long != b.Long {
			long = append(long, a.Long)
		}
		for _, v := range a.Set {
			if !slices.Contains(out.Set, v) {
				out.Set = append(out.Set, v)
			}
		}
		if a.Own != b.Own {
			own = append(own, a.Own)
		}
		for k, v := range a.Map {
			if w, ok := b.Map[k]; ok && w == v {
				continue
			}
			if w, ok := keys[k]; ok && w != v {
				return nil
			}
			keys[k] = v
			if out.Map == nil {
				out.Map = map[string]int{}
			}
			out.Map[k] = v
		}
	}
	for i, a := range after {
		for k, v := range a.Runs {
			if tasks[i].input.N == 0 && base.Runs[k] == v {
				continue
			}
			if out.Runs == nil {
				out.Runs = map[string]int{}
			}
			out.Runs[k] = v
		}
	}
	for _, l := range long {
		if len(l) > len(out.Long) {
			out.Long = l
		}
	}
	for _, o := range own {
		if o != own[0] {
			return nil
		}
		out.Own = o
	}
	out.Max = best(out.Max, out.maxed, max, func(a, b int) bool { return a > b })
	out.Min = best(out.Min, out.minned, min, func(a, b int) bool { return a < b })
	if len(cust) > 0 {
		out.Custom, _ = custom(base.Custom, cust)
	}
	return out
}

func best(base int, there bool, values []int, better func(a, b int) bool) int {
	if !there && len(values) > 0 {
		base = values[0]
	}
	for _, v := range values {
		if better(v, base) {
			base = v
		}
	}
	return base
}

func same(a, b *mixed) bool {
	norm := func(s *mixed) *mixed {
		c := clone(s)
		c.maxed, c.minned = false, false
		if len(c.Log) == 0 {
			c.Log = nil
		}
		if len(c.Set) == 0 {
			c.Set = nil
		}
		if len(c.Map) == 0 {
			c.Map = nil
		}
		if len(c.Runs) == 0 {
			c.Runs = nil
		}
		return c
	}
	return reflect.DeepEqual(norm(a), norm(b))
}
