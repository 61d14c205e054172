package graph_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

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
}

func (s *mixed) String() string { return fmt.Sprintf("%+v", *s) }

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
	Name     string          `json:",omitempty"`
	Kind     nodeKind        `json:",omitempty"`
	Writes   uint            `json:",omitempty"` // by bit, see work
	N        int             `json:",omitempty"` // what it writes
	Steps    int             `json:",omitempty"`
	Ask      bool            `json:",omitempty"`
	Fails    int             `json:",omitempty"` // the first so many attempts of each execution
	Panics   bool            `json:",omitempty"`
	Retry    int             `json:",omitempty"`
	Delay    bool            `json:",omitempty"` // between attempts
	Handled  bool            `json:",omitempty"` // it fails always, and has a handler
	Defer    bool            `json:",omitempty"`
	Before   bool            `json:",omitempty"` // static interrupts
	After    bool            `json:",omitempty"`
	Snap     graph.Snapshots `json:",omitempty"`
	To       []int           `json:",omitempty"` // later nodes; none: End
	Loops    int             `json:",omitempty"` // so often it leads to Back instead
	Back     int             `json:",omitempty"`
	Sends    map[int]int     `json:",omitempty"` // tasks, and how many inputs each is sent
	Join     []int           `json:",omitempty"` // its sources; none: it is led to
	Sub      *graphPlan      `json:",omitempty"`
	Lifetime graph.Lifetime  `json:",omitempty"`
}

type graphPlan struct {
	Nodes []*nodePlan
	Start []int
}

// work is what a node does to the state.
func (n *nodePlan) work(s *mixed, input int, notes string) {
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

func subInput(s *mixed) mixed { return mixed{Log: []string{"in"}, Sum: s.Sum % 7, Max: 3} }

func subOutput(name string, s, in *mixed) {
	s.Log = append(s.Log, name+"<"+strings.Join(in.Log, ",")+">")
	s.Sum += in.Sum % 11
	s.Last = in.Last
}

// A model runs graph plans.
type model struct {
	kept map[string]*mixed // states of subgraphs that outlive a call, by path
	ran  int
}

type todo struct {
	node  int
	input int // 0: none was sent
}

// run returns the state that the graph ends in, or in which it fails for good,
// and why it does.
func (m *model) run(g *graphPlan, path string, s *mixed) (why string) {
	arrived := map[int][]int{}
	var deferred []int
	next := m.follow(g, nil, s, g.Start, nil, arrived, &deferred)
	for len(next) > 0 {
		m.ran += len(next)
		step := next
		next = nil
		base := *clone(s)
		var after []*mixed
		for _, t := range step {
			n := g.Nodes[t.node]
			own := clone(&base)
			if t.input > 0 {
				own = &mixed{}
			}
			if n.Kind == nodeSub {
				if why := m.sub(n, path, own); why != "" {
					return why
				}
			} else {
				input := t.input
				if n.Handled {
					input = 0 // a handler is not given any
				}
				n.work(own, input, n.notes())
			}
			after = append(after, own)
		}
		merged := after[0]
		if len(step) > 1 || step[0].input > 0 {
			if merged = merge(&base, step, after); merged == nil {
				return "merge"
			}
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
		*s = *merged
	}
	return ""
}

// follow returns what runs behind a node, nil for Start.
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
		if to = n.To; n.loops(s) {
			to = []int{n.Back}
		}
		for _, i := range to {
			enlist(i)
		}
		for _, i := range slices.Sorted(maps.Keys(n.Sends)) {
			for k := range n.Sends[i] {
				next = append(next, todo{i, k + 1})
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
	in := subInput(s)
	own := &in
	if n.Lifetime == graph.PerThread {
		if kept := m.kept[path]; kept != nil {
			own = clone(kept)
			own.Log = append(own.Log, in.Log...)
			if in.Sum != 0 {
				own.Sum = in.Sum
			}
			own.Max = in.Max
		}
	}
	if why := m.run(n.Sub, path, own); why != "" {
		return why
	}
	if n.Lifetime == graph.PerThread {
		m.kept[path] = own
	} else {
		maps.DeleteFunc(m.kept, func(p string, _ *mixed) bool { return strings.HasPrefix(p, path+"/") })
	}
	subOutput(n.Name, s, own)
	return ""
}

func clone(s *mixed) *mixed {
	c := *s
	c.Log, c.Set, c.Map = slices.Clone(s.Log), slices.Clone(s.Set), maps.Clone(s.Map)
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
		if tasks[i].input > 0 {
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
	out.Max = best(out.Max, max, func(a, b int) bool { return a > b })
	out.Min = best(out.Min, min, func(a, b int) bool { return a < b })
	if len(cust) > 0 {
		out.Custom, _ = custom(base.Custom, cust)
	}
	return out
}

func best(base int, values []int, better func(a, b int) bool) int {
	if base == 0 && len(values) > 0 {
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
		if len(c.Log) == 0 {
			c.Log = nil
		}
		if len(c.Set) == 0 {
			c.Set = nil
		}
		if len(c.Map) == 0 {
			c.Map = nil
		}
		return c
	}
	return reflect.DeepEqual(norm(a), norm(b))
}
