package graph

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// Start and End are the places before the first and behind the last node.
const (
	Start = "$start"
	End   = "$end"
)

// A Graph is a plan of nodes over a state of type S, a struct. Build it, then
// [Graph.Compile] it: the methods only take notes, and Compile says what is
// wrong with them. A Graph must not be built by two goroutines at once.
type Graph[S any] struct {
	name  string
	nodes []*node[S]
	ways  []way[S]
}

type node[S any] struct {
	name   string
	run    func(context.Context, *S) error
	opt    NodeOptions
	more   bool // options were given more than once
	index  int
	before bool // stop before it
	after  bool
	way    *way[S]
}

// A way leads on from a node, or from Start.
type way[S any] struct {
	from  string
	to    []string        // where it leads; for a route, where it may lead, none meaning anywhere
	route func(*S) string // nil: an edge
}

// NodeOptions refine a node. The zero value is useful.
type NodeOptions struct {
	InterruptBefore bool // as if in CompileOptions.InterruptBefore
	InterruptAfter  bool // as if in CompileOptions.InterruptAfter
}

// New begins a graph. The name, an id, is what threads remember their program
// by: keep it as long as there are threads.
func New[S any](name string) *Graph[S] { return &Graph[S]{name: name} }

// Node adds a node: ordinary code that reads and changes the state. Its name,
// an id that does not begin with "$", is in every checkpoint the node makes.
// At most one NodeOptions may be given.
//
// What the node changed is committed in one piece when it returns nil, and
// discarded when it returns an error or waits for a gate; then it runs again
// from its start when the thread is resumed. Wrap what must not happen twice
// in step.Do.
func (g *Graph[S]) Node(name string, run func(ctx context.Context, s *S) error, o ...NodeOptions) {
	n := &node[S]{name: name, run: run, more: len(o) > 1}
	if len(o) > 0 {
		n.opt = o[0]
	}
	g.nodes = append(g.nodes, n)
}

// Edge leads from a node, or from Start, to a node, or to End.
func (g *Graph[S]) Edge(from, to string) {
	g.ways = append(g.ways, way[S]{from: from, to: []string{to}})
}

// Route leads to the node, or End, that the function names. It sees the state
// as the node left it, and must only read it and depend on nothing else. If
// targets are given, it may lead nowhere else, and Compile checks them.
func (g *Graph[S]) Route(from string, route func(s *S) string, targets ...string) {
	g.ways = append(g.ways, way[S]{from: from, to: slices.Clone(targets), route: route})
}

// CompileOptions configure an App. Nil is the zero value.
type CompileOptions struct {
	InterruptBefore []string        // stop before these nodes; "*" is all
	InterruptAfter  []string        // stop after these nodes, unless the run is done then; "*" is all
	RecursionLimit  int             // nodes that one Run or Resume may run; default 100
	Codec           posthouse.Codec // of the state's parts; default posthouse.JSON
	Check           bool            // look for edits in append parts in full after every node, not only when a run parks or ends
}

// DefaultRecursionLimit is the limit unless options say otherwise. LangGraph4j
// has 25; an agent that calls a few tools needs more.
const DefaultRecursionLimit = 100

// Compile checks the graph and binds it to a Ledger. If anything is wrong it
// returns [Problems], which lists everything that is. The App is not touched by
// what is added to the graph later.
func (g *Graph[S]) Compile(ledger *posthouse.Ledger, o *CompileOptions) (*App[S], error) {
	if o == nil {
		o = &CompileOptions{}
	}
	a := &App[S]{
		ledger: ledger, name: g.name, codec: o.Codec, limit: o.RecursionLimit, check: o.Check,
		nodes: make(map[string]*node[S], len(g.nodes)),
	}
	if a.codec == nil {
		a.codec = posthouse.JSON
	}
	if a.limit == 0 {
		a.limit = DefaultRecursionLimit
	}
	c := &checker[S]{app: a}
	if ledger == nil {
		c.problem("the ledger is nil")
	}
	if a.limit < 0 {
		c.problem("RecursionLimit is negative")
	}
	var bad []string
	a.plan, bad = newPlan(reflect.TypeFor[S](), a.codec)
	c.list = append(c.list, bad...)
	c.graph(g, o)
	if len(c.list) > 0 {
		return nil, &Problems{Graph: g.name, List: c.list}
	}
	a.fingerprint = fingerprint(a)
	return a, nil
}

func isPlace(name string) bool { return strings.HasPrefix(name, "$") }
