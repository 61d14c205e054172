package graph

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/route"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// Start and End are the places before the first and after the last node.
const (
	Start = "$start"
	End   = "$end"
)

// A Graph is a plan of nodes over a state of type S, a struct. Build it, then
// [Graph.Compile] it: the methods only take notes, and Compile says what is
// wrong with them. A Graph must not be built by two goroutines at once.
type Graph[S any] struct {
	_ [0]*S // Graphs of two types do not convert
	definition
}

// A definition is a Graph without the type of its state; see [core].
type definition struct {
	name        string
	nodes       []*node
	transitions []route.Transition
	joins       []topology.Join
	handlers    []handler
	merges      []state.Merger
	aliases     map[string]string // names of inlined places, and where they lead
}

type node struct {
	topology.Node
	run         func(context.Context, any, topology.Decoder, *Command) error
	sub         *inner      // in place of run
	remote      remoteTask  // that run hands out
	names       route.Names // of an inlined node
	opt         NodeOptions
	more        bool // options were given more than once
	onError     func(context.Context, any, error) (Command, error)
	transitions []*route.Transition
}

// NodeOptions refine a node. The zero value is useful.
type NodeOptions struct {
	InterruptBefore bool                  // as if in CompileOptions.InterruptBefore
	InterruptAfter  bool                  // as if in CompileOptions.InterruptAfter
	Defer           bool                  // it runs when nothing else is left to run: a join of branches of any length
	Retry           posthouse.RetryPolicy // what happens after a failure; default CompileOptions.Retry. One attempt: no retry
	RetryOn         func(error) bool      // whether an error is tried again; default: unless it is a panic, an ErrInvalid or a [runs.RemoteError]
	Timeout         time.Duration         // of one attempt; default CompileOptions.Timeout, negative: no limit
	Snapshots       Snapshots             // whether it makes a checkpoint; default as CompileOptions.Snapshots says

	// IdleTimeout is the longest time between two heartbeats of an attempt, see
	// [Heartbeat]. Default CompileOptions.IdleTimeout, negative: no limit.
	IdleTimeout time.Duration

	// Targets are where Commands of this node or of its OnError may lead, and Commands
	// with Parent of its subgraph. Empty means anywhere.
	Targets []string

	// Effect is what running the node again would do to the world. It is kept with the
	// node's recorded result, and as label "effect" of its checkpoint.
	Effect posthouse.Effect

	InterruptBeforeEdges bool // as if in CompileOptions.InterruptBeforeEdges
}

// A plan is the nodes of a compiled graph with their code. It does not change.
type plan struct {
	*topology.Graph
	name  string // of the graph
	nodes map[string]*node
	order []*node             // as they were added
	start []*route.Transition // those of Graph.Start
}

// node returns the node of a target, nil if the graph does not have it.
func (a *plan) node(t *frontier.Target) *node {
	if t.At > 0 {
		return a.order[t.At-1]
	}
	return a.nodes[t.Node]
}

// New begins a graph. Threads remember their program by the name, an id: keep it as
// long as there are threads.
func New[S any](name string) *Graph[S] { return &Graph[S]{definition: definition{name: name}} }

// Node adds a node: ordinary code that reads and changes the state. Its name,
// an id that does not begin with "$", is in every checkpoint the node makes.
// At most one NodeOptions may be given.
//
// The node's changes are committed in one piece when it returns nil, and
// discarded when it returns an error or waits for a gate; then it runs again from
// its start when the thread is resumed. Wrap effects that must not happen twice
// in step.Do. A node that runs beside others works on a copy of the state; its
// changes are merged with theirs, see [Merge].
func (g *Graph[S]) Node(name string, run func(ctx context.Context, s *S) error, o ...NodeOptions) {
	n := g.add(name, o)
	if run != nil {
		n.run = func(ctx context.Context, s any, _ topology.Decoder, _ *Command) error { return run(ctx, s.(*S)) }
	}
}

// Command adds a node that also says where to go on. See [Command].
func (g *Graph[S]) Command(name string, run func(ctx context.Context, s *S) (Command, error), o ...NodeOptions) {
	n := g.add(name, o)
	n.Decides = true
	if run != nil {
		n.run = func(ctx context.Context, s any, _ topology.Decoder, lead *Command) (err error) {
			*lead, err = run(ctx, s.(*S))
			return err
		}
	}
}

// Task adds a node that is sent inputs of type In. It runs once for each [Send] that
// names it, many at once, and sees only its input. out begins empty. The task's output
// is merged into the state by the rules of its parts. So thousands of tasks cost what
// they read and write, whatever the size of the state. No edge or route leads to a
// task, since those carry no input.
func Task[S, In any](g *Graph[S], name string, run func(ctx context.Context, in In, out *S) error, o ...NodeOptions) {
	n := g.add(name, o)
	n.Input = reflect.TypeFor[In]()
	if run != nil {
		n.run = func(ctx context.Context, s any, sent topology.Decoder, _ *Command) error {
			var in In
			if err := sent(&in); err != nil {
				return err
			}
			return run(ctx, in, s.(*S))
		}
	}
}

func (g *definition) add(name string, o []NodeOptions) *node {
	n := &node{Node: topology.Node{Name: name}, more: len(o) > 1}
	if len(o) > 0 {
		n.opt = o[0]
	}
	g.nodes = append(g.nodes, n)
	return n
}

type handler struct {
	node string
	run  func(context.Context, any, error) (Command, error)
}

// OnError handles the failures of a node once its retries are used up. The function
// runs in the node's place, on the state from before it. Its changes and the way it
// leads count as the node's; the zero Command goes on where the node would have. The
// failure is on record before the handler runs: after a crash the handler runs again,
// not the node.
func (g *Graph[S]) OnError(node string, run func(ctx context.Context, s *S, err error) (Command, error)) {
	h := handler{node: node}
	if run != nil {
		h.run = func(ctx context.Context, s any, err error) (Command, error) { return run(ctx, s.(*S), err) }
	}
	g.handlers = append(g.handlers, h)
}

// CompileOptions configure an App. Nil is the zero value.
type CompileOptions struct {
	InterruptBefore []string // stop before these nodes; "*" is all

	// InterruptAfter stops after these nodes, unless the run is done then. A subgraph
	// stops after its last node, too. "*" is all.
	InterruptAfter []string

	// InterruptBeforeEdges stops after these nodes, before their edges, joins and routes
	// are followed. A change by [App.Update] in between decides where the run goes on.
	// Until then the node is named as the next, and does not run again. A Command that
	// names targets has decided already. "*" is all.
	InterruptBeforeEdges []string

	RecursionLimit int             // steps that one Run or Resume may take; default 100
	Concurrency    int             // tasks of one step that run at once; default 16
	FailFast       bool            // end the other tasks of a step when one failed; by default those that run may finish
	Snapshots      Snapshots       // which nodes make checkpoints; default SnapshotAfter: each
	Codec          posthouse.Codec // of the state's parts; default posthouse.JSON
	Check          bool            // look for edits in append parts in full after every node, not only when a run parks or ends
	Migrations     []Migration     // from earlier versions of the graph, oldest first
	Release        AutoRelease     // when runs release their threads; default never

	// HoldFor is the longest time that a run waits for a retry itself. A later retry
	// parks the thread. Default 10 s, negative: not at all.
	HoldFor time.Duration

	// Retry, Timeout and IdleTimeout are for nodes that do not set them in NodeOptions,
	// and for the nodes of subgraphs. Nodes that call a subgraph use only their own.
	Retry       posthouse.RetryPolicy // of nodes that say nothing themselves; default: a node that fails is not tried again
	RetryOn     func(error) bool      // of the same nodes
	Timeout     time.Duration         // default: no limit
	IdleTimeout time.Duration         // default: no limit

	Description string          // for people, in lists of programs: what the graph does
	Questions   []runs.Question // that the graph says it asks, for the same lists; default: no questions

	inside []*definition // the graphs around a subgraph
}

// Defaults of [CompileOptions]. LangGraph4j's limit is 25; an agent that calls
// a few tools needs more.
const (
	DefaultRecursionLimit = 100
	DefaultConcurrency    = 16
	DefaultHoldFor        = 10 * time.Second
)

// Compile checks the graph and binds it to a Ledger. If anything is wrong it returns
// [Problems], which lists everything. Later additions to the graph do not change the
// App.
func (g *Graph[S]) Compile(led *ledger.Ledger, o *CompileOptions) (*App[S], error) {
	c, err := g.compile(reflect.TypeFor[S](), led, o)
	if err != nil {
		return nil, err
	}
	return &App[S]{core: c}, nil
}

// compile is [Graph.Compile] for a state of a type.
func (g *definition) compile(of reflect.Type, led *ledger.Ledger, o *CompileOptions) (*core, error) {
	own := *cmp.Or(o, &CompileOptions{})
	o = &own
	a := &core{
		plan: &plan{name: g.name, nodes: make(map[string]*node, len(g.nodes))},
		settings: settings{
			limit: cmp.Or(o.RecursionLimit, DefaultRecursionLimit), width: cmp.Or(o.Concurrency, DefaultConcurrency),
			check: o.Check, failFast: o.FailFast, hold: max(0, cmp.Or(o.HoldFor, DefaultHoldFor)), release: o.Release,
			snapshots: cmp.Or(o.Snapshots, SnapshotAfter),
		},
		ledger: led, traces: led != nil && led.Core().Config.Tracer != nil, migrations: escapeMigrations(o.Migrations),
	}
	c := &checker{app: a}
	if led == nil {
		c.Problem("the ledger is nil")
	}
	if a.limit < 0 {
		c.Problem("RecursionLimit is negative")
	}
	if o.Snapshots > SnapshotNone {
		c.Problem("Snapshots %d is unknown", o.Snapshots)
	}
	retry := engine.Retry{RetryPolicy: o.Retry}
	if p := retry.Validate(); p != "" {
		c.Problem("Retry: %s", p)
	}
	if o.Timeout < 0 || o.IdleTimeout < 0 {
		c.Problem("a time limit is negative")
	}
	if a.width < 0 {
		c.Problem("Concurrency is negative")
	}
	if err := front.CheckQuestions(o.Questions); err != nil {
		c.Problem("%s", err)
	}
	o.inside = append(slices.Clip(o.inside), g)
	codec := cmp.Or(o.Codec, posthouse.JSON)
	schema, bad := newSchema(of, g.name, codec, o.Check)
	a.Graph = &topology.Graph{
		Title: g.name, Codec: codec, Schema: schema, Nodes: make(map[string]*topology.Node, len(g.nodes)),
		Aliases: maps.Clone(g.aliases), To: map[string][]frontier.Target{End: nil}, Unmet: joinError,
	}
	c.Checker = topology.Checker{Graph: a.Graph, List: append(c.List, bad...)}
	c.graph(g, o)
	if len(c.List) > 0 {
		return nil, &Problems{Graph: g.name, List: c.List}
	}
	a.fingerprint = a.Graph.Fingerprint()
	a.about = posthouse.ProgramInfo{
		Name: a.name, Kind: posthouse.ProgramGraph, Starts: true, Version: a.fingerprint, Description: o.Description, Questions: front.Questions(o.Questions),
	}
	a.front = &front.Front[RunOptions, input, result, snapshot]{
		Ledger: led, Kind: "graph", Name: a.name, Instance: string(led.Core().NewID()), Hold: a.hold,
		Check: a.checkCall, NewRun: a.newCall,
		Snapshot: a.newSnapshot, Fits: a.fits, End: a.reportEnd,
		Status: func(res *result) posthouse.Status { return res.Status },
	}
	return a, nil
}

// newSchema returns how a state type is stored, and everything that is wrong with it.
func newSchema(of reflect.Type, graph string, codec posthouse.Codec, check bool) (*state.Schema, []string) {
	return state.NewSchema(of, state.Options{Graph: graph, Codec: codec, Check: check, IsLog: isLog, Mean: reflect.TypeFor[Mean](), Conflict: mergeError})
}
