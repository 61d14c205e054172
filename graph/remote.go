package graph

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/runs"
)

// A Remote is a node that a worker handles. [Graph.Remote] adds it. Task, Out, and In or
// Act are required.
type Remote[S, In, Out any] struct {
	Task string // the name of the handler

	// In returns what the handler is given, encoded as JSON, at most 1 MiB. It is called
	// when the task is dispatched, and what it changes of the state is discarded.
	In func(s *S) (In, error)

	// Act, in place of In, dispatches the task under a grant. It calls gate.Act with open as
	// the function, which gives the handler what was approved and waits for its output:
	//
	//	func(ctx context.Context, s *Order, open func(context.Context, Payment) (string, error)) (string, error) {
	//		return gate.Act(ctx, "pay", s.Grant, open)
	//	}
	Act func(ctx context.Context, s *S, open func(ctx context.Context, in In) (Out, error)) (Out, error)

	// Out takes over what the handler returned, decoded from JSON, as any node changes
	// the state.
	Out func(s *S, out Out) error

	Group    string                                  // of workers that may take it; "" is any
	Limits   posthouse.TaskLimits                    // of attempts and iterations
	Start    time.Duration                           // from the dispatch until a worker may take it
	Expires  time.Duration                           // from the dispatch until it fails with posthouse.ErrExpired; 0: never; at most 100 years
	Metadata map[string]string                       // given to the handler beside its input; at most 32 values
	Trace    func(context.Context) map[string]string // given to the handler, for example a traceparent; at most 8 values
}

// remote is a [Remote] without the types of its input and output.
type remote[S any] interface {
	remoteTask
	run(ctx context.Context, s *S, class posthouse.Effect) error
}

// remoteTask is a [Remote] without any type.
type remoteTask interface {
	task() string
	problems() []string
	acts() bool // under a grant
}

// Remote adds a node that a worker handles as a whole, a [Remote] of this state. The node
// parks the thread until a worker has completed the task. No goroutine is held, and others of
// its step go on. Its handler sees what In returns, never the state.
//
// A task that failed for good fails the node with a [*runs.RemoteError]. [Graph.OnError] may go
// on, and knows it as text ([RecordedError]). Limits say how often a task is tried, and how long. So Retry,
// Timeout and IdleTimeout are refused in the options of the node, and those of
// CompileOptions do not apply to it. The failure is on record: [App.Resume] finds it again,
// until [ledger.RetryTask] opens the task again. [App.Update] with Goto, a fork at the node or before
// it, and each new visit of the node dispatch a task of their own.
//
// NodeOptions.Effect is the class of what the handler does. Where the ledger requires
// grants, Compile refuses a node without a class as one that acts on the world, unless it
// has an Act.
func (g *Graph[S]) Remote(name string, r remote[S], o ...NodeOptions) {
	n := g.add(name, o)
	if r == nil {
		return // Compile says so
	}
	n.remote, n.Remote = r, r.task()
	n.run = func(ctx context.Context, s any, _ topology.Decoder, _ *Command) error {
		return r.run(ctx, s.(*S), n.opt.Effect)
	}
}

func (r Remote[S, In, Out]) task() string { return r.Task }

func (r Remote[S, In, Out]) call() *engine.RemoteCall {
	return &engine.RemoteCall{Task: r.Task, RemoteOptions: runs.RemoteOptions{Group: r.Group, Limits: r.Limits, Metadata: r.Metadata, Start: r.Start, Expires: r.Expires}}
}

// problems returns what is wrong with it, to be read after the name of the node.
func (r Remote[S, In, Out]) problems() (list []string) {
	for _, f := range []struct {
		name    string
		missing bool
	}{{"Task", r.Task == ""}, {"In", r.In == nil && r.Act == nil}, {"Out", r.Out == nil}} {
		if f.missing {
			list = append(list, "has no "+f.name)
		}
	}
	if r.In != nil && r.Act != nil {
		list = append(list, "has an In and an Act: what was approved is the input")
	}
	if r.Task != "" {
		if err := r.call().Check(); err != nil {
			list = append(list, "cannot be dispatched: "+err.Error())
		}
	}
	return list
}

func (r Remote[S, In, Out]) run(ctx context.Context, s *S, class posthouse.Effect) error {
	t, err := engine.TaskOf(ctx, "task "+r.Task)
	if err != nil {
		return err
	}
	call, out := r.call(), *new(Out)
	call.Effect = class
	input := func(in func() (In, error)) func() (any, error) {
		return func() (any, error) {
			if r.Trace != nil {
				call.Trace = r.Trace(ctx)
			}
			return in()
		}
	}
	if r.Act != nil {
		out, err = r.Act(ctx, s, func(ctx context.Context, in In) (out Out, err error) {
			err = t.Remote(ctx, remoteName, call, input(func() (In, error) { return in, nil }), &out)
			return out, err
		})
	} else {
		err = t.Remote(ctx, remoteName, call, input(func() (In, error) { return r.In(s) }), &out)
	}
	if err != nil {
		return err
	}
	return r.Out(s, out)
}

// remoteName names the task within its node. It is the same whatever node and handler are
// called, so that both may be renamed.
const remoteName = "remote"

func (r Remote[S, In, Out]) acts() bool { return r.Act != nil }

// remote checks a remote node.
func (c *checker) remote(n *node) {
	for _, p := range n.remote.problems() {
		c.Problem("remote node %q %s", n.Name, p)
	}
	if o := &n.opt; o.retry().Retries() > 0 || o.Timeout > 0 || o.IdleTimeout > 0 {
		c.Problem("remote node %q has a Retry, Timeout or IdleTimeout: bound its task by Limits and Expires", n.Name)
	}
}
