package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
)

// A Lifetime says how long the state of a subgraph lives.
type Lifetime uint8

// The lifetimes.
const (
	PerCall   Lifetime = iota // each call begins with its input; what the call left is dropped when its node completed
	PerThread                 // a call goes on from the state that the last one left, as Run does on an existing thread
	Unkept                    // only its steps are on record: an interrupted call begins again. No static interrupts
)

// SubOptions say how a subgraph exchanges state with the graph around it. Nil
// is the zero value.
type SubOptions[S, T any] struct {
	In       func(s *S) T                // the input of a call; nil: a zero T
	Out      func(s *S, result *T) error // takes over what a call left; nil: nothing
	Lifetime Lifetime                    // default PerCall

	// OwnThread runs it in a thread of its own, named after the caller's and with the
	// same coordination. It has its own history, and can be resumed, forked and released
	// by itself; [ThreadWithin] names it. While it waits, or another run has it, the
	// caller waits for it. A fork of the caller gets another thread for it. That one begins where the original's was
	// at the checkpoint, with what it had kept.
	//
	// Cancelling, releasing and deleting the caller cancel it. Where that failed, or the
	// process was lost before, a runner cancels it within an hour. A runner needs what
	// [App.Programs] returns. A [Command] with Parent is an error in it, since the thread
	// has no graph around it. Not with Unkept.
	OwnThread bool

	// Migrations are, with OwnThread, from earlier versions of the subgraph. Compile the
	// subgraph alone for an [App.Check] of its threads. Without OwnThread, the graph
	// around has the Migrations.
	Migrations []Migration

	Node NodeOptions // of the node that calls it
}

// Subgraph adds a node that runs another graph. Each of its nodes makes a checkpoint of
// the whole: the state around it does not change, and the subgraph's own state and
// position are kept with it. So an interrupt, a crash or a fork inside a subgraph goes
// on inside it, at any depth, and a fork of the outer graph takes it along. Its
// checkpoints are of kind inner; their Node says where, as in "research/plan". [Within]
// reads its state.
//
// In sees the state as the node finds it. The subgraph is compiled with the options of
// the graph around it, except their interrupts. Each call has the recursion limit for
// itself. A [Command] with Parent ends it and leads on in the graph around it.
func Subgraph[S, T any](g *Graph[S], name string, sub *Graph[T], o *SubOptions[S, T]) {
	own := *cmp.Or(o, &SubOptions[S, T]{}) // what the caller does to it later does not count
	in := &inner{state: reflect.TypeFor[T](), lifetime: own.Lifetime, ownThread: own.OwnThread, migrations: own.Migrations}
	if sub != nil {
		in.graph = &sub.definition
	}
	if own.In != nil {
		in.in = func(s any) any { input := own.In(s.(*S)); return &input }
	}
	if own.Out != nil {
		in.out = func(s, result any) error { return own.Out(s.(*S), result.(*T)) }
	}
	g.add(name, []NodeOptions{own.Node}).sub = in
}

// An inner is a subgraph of a node. It takes and returns pointers to states.
type inner struct {
	graph      *definition // nil is refused by Compile
	state      reflect.Type
	in         func(s any) any           // or nil
	out        func(s, result any) error // or nil
	lifetime   Lifetime
	ownThread  bool
	migrations []Migration
	app        *core // once it is compiled
}

// compile returns a copy: a Graph can be compiled more than once.
func (in *inner) compile(l *ledger.Ledger, o *CompileOptions) (*inner, error) {
	switch {
	case in.graph == nil:
		return nil, errors.New("it is nil")
	case in.lifetime > Unkept:
		return nil, fmt.Errorf("its Lifetime %d is unknown", in.lifetime)
	case in.ownThread && in.lifetime == Unkept:
		return nil, errors.New("it has a thread of its own, and so is kept")
	case len(in.migrations) > 0 && !in.ownThread:
		return nil, errors.New("it has Migrations and no thread of its own: give them to the graph around it")
	case slices.Contains(o.inside, in.graph):
		return nil, errors.New("it is within itself")
	}
	own := *o
	own.InterruptBefore, own.InterruptAfter, own.InterruptBeforeEdges, own.Migrations = nil, nil, nil, slices.Clone(in.migrations)
	c := *in
	var err error
	c.app, err = in.graph.compile(in.state, l, &own)
	if err == nil && in.lifetime == Unkept && c.app.Stops() {
		err = errors.New("it is Unkept and has a static interrupt, at which it would begin again for ever")
	}
	return &c, err
}

func (in *inner) topology() (string, *topology.Subgraph) {
	own, life := "", in.lifetime
	if in.ownThread {
		own = " own"
	}
	sub := &topology.Subgraph{Graph: in.app.Graph, OwnThread: in.ownThread, Kept: life != Unkept, PerThread: life == PerThread}
	return fmt.Sprintf(" subgraph %d%s %s", life, own, in.app.fingerprint), sub
}

// input returns what a call begins with.
func (in *inner) input(s any) (first *input, err error) {
	if in.in == nil {
		return &input{in.app.newState()}, nil
	}
	err = engine.Guard(func() error { first = &input{in.in(s)}; return nil })
	return first, err
}

// output merges the result of a call into the state around.
func (in *inner) output(s, result any) error {
	if in.out == nil {
		return nil
	}
	return engine.Guard(func() error { return in.out(s, result) })
}

// call runs the subgraph from its start, or from where it stood.
func (in *inner) call(ctx context.Context, r *run, o *outcome) (Command, error) {
	if in.ownThread {
		return in.callThread(ctx, r, o)
	}
	var hub *stream.Hub
	if r.opt.Subgraphs {
		hub = r.report.Hub
	}
	c := newRun(in.app, r.rootState, r.sess, r.opt, in.app.limit, hub)
	c.opt.bounded = o.task.isBounded()
	c.subrun = &subrun{path: r.pathTo(o.task.label()), call: o.task.key.String(), exec: o.exec, lifetime: in.lifetime, unkept: in.lifetime == Unkept}
	c.report.Path = c.subrun.path
	if c.opt.path != "" {
		c.report.Path = c.opt.path + "/" + c.subrun.path
	}
	if r.subrun != nil && r.subrun.unkept {
		c.subrun.unkept, c.subrun.pending = true, state.JoinParts(r.subrun.pending, r.record.uncommittedProgram)
	}
	stands, err := c.enter(ctx)
	switch {
	case err != nil:
	case stands:
		_, err = c.loop(ctx)
	default:
		var first *input
		first, err = in.input(o.live.Value)
		if err == nil {
			_, err = c.Start(ctx, first)
		}
	}
	switch {
	case err != nil:
		return Command{}, err
	case c.interrupted:
		return Command{}, &subgraphEnd{kind: taskHalts}
	case len(c.frontier.Tasks) > 0:
		return Command{}, &subgraphEnd{kind: taskIdle}
	}
	if in.out != nil {
		result, err := c.live.Copy()
		if err == nil {
			err = in.output(o.live.Value, result)
		}
		if err != nil {
			return Command{}, err
		}
	}
	o.program = c.Completion(c.subrun.path, c.subrun.parts, c.subrun.lifetime == PerThread)
	return Command{Goto: c.frontier.Parent}, nil
}

// A subgraphEnd ends a subgraph that neither completed nor failed.
type subgraphEnd struct {
	note string            // what was returned while a question was open
	kind outcomeKind       // taskWaits, taskHalts or taskIdle
	open []*posthouse.Gate // gates of tasks that were not run again
}

func (e *subgraphEnd) Error() string { return "graph: a subgraph is interrupted" }

func (r *run) pathTo(name string) string {
	if r.subrun == nil {
		return name
	}
	return r.subrun.path + "/" + name
}
