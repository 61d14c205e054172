package graph

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// RunOptions refine one Run, Resume, Stream or Replay. The zero value is useful.
type RunOptions struct {
	Branch         string // default main; for Replay the new branch, default fork-1, fork-2, ...
	Run            string // the run's id, a label on what it writes; default a new id
	RecursionLimit int    // nodes that this call may run; default CompileOptions.RecursionLimit
	By             string // who sent the input, for its checkpoint
	Coordination   string // a label that groups threads, set with an input and kept; default the thread's own id
}

// A run is one call over one branch.
type run[S any] struct {
	app    *App[S]
	sess   *engine.Session
	live   *live[S]
	opt    RunOptions
	limit  int
	emit   func(Event[S]) bool // false: the reader has left; nil: there is none
	ran    int                 // nodes so far
	last   []int               // by node: when it last ran, counted from 1
	stop   bool                // a static interrupt was committed
	draft  posthouse.Draft     // reused from node to node
	change posthouse.Change
}

func (a *App[S]) begin(ctx context.Context, thread string, o RunOptions, emit func(Event[S]) bool) (*run[S], error) {
	if thread == "" {
		thread = posthouse.DefaultThread
	}
	if o.RecursionLimit < 0 {
		return nil, invalid("RecursionLimit", "is negative")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := engine.Begin(ctx, a.ledger, engine.SessionOptions{Thread: thread, Branch: o.Branch, Run: o.Run})
	if err != nil {
		return nil, err
	}
	r := &run[S]{app: a, sess: s, opt: o, limit: o.RecursionLimit, emit: emit, last: make([]int, len(a.order))}
	if r.limit == 0 {
		r.limit = a.limit
	}
	if h := s.Head(); h != nil {
		if err := a.owns(h); err != nil {
			return nil, errors.Join(err, s.End(ctx))
		}
	}
	return r, nil
}

// errLeft ends a run whose reader has left. It does not leave the package.
var errLeft = errors.New("graph: the reader has left")

// start merges the input into the thread and runs from Start.
func (r *run[S]) start(ctx context.Context, in *S) (*Result[S], error) {
	a := r.app
	r.live = newLive[S](a.plan, a.codec, a.check)
	if h := r.sess.Head(); h != nil {
		var err error
		if r.live, err = a.load(ctx, h.ID); err != nil {
			return nil, err
		}
	}
	r.live.merge(a.plan, in)
	next, err := a.route(a.start, r.live.state)
	if err != nil {
		return nil, err
	}
	parts, err := r.live.delta()
	if err != nil {
		return nil, err
	}
	if err := r.live.detach(); err != nil {
		return nil, err
	}
	c := r.node("", next, parts)
	c.Kind, c.By, c.Coordination = posthouse.KindInput, r.opt.By, r.opt.Coordination
	if err := r.commit(ctx, nil); err != nil {
		return nil, err
	}
	if err := r.tell(EventInput); err != nil {
		return nil, err
	}
	return r.loop(ctx)
}

// resume goes on from the head.
func (r *run[S]) resume(ctx context.Context) (*Result[S], error) {
	h := r.sess.Head()
	if h == nil {
		return nil, unknownThread(r.sess.Thread(), r.sess.Branch())
	}
	if h.Status == posthouse.StatusWaiting {
		res, err := r.undecided(ctx)
		if res != nil || err != nil {
			return res, err
		}
	}
	var err error
	if r.live, err = r.app.load(ctx, h.ID); err != nil {
		return nil, err
	}
	ended := h.Status == posthouse.StatusDone || h.Status == posthouse.StatusCancelled
	if len(h.Next) == 0 && !ended {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "thread", Message: "checkpoint " + string(h.ID) + " names no node to run",
			Hint: "run the thread with an input, or update it with UpdateOptions.Goto",
		}
	}
	return r.loop(ctx)
}

// loop runs nodes until the branch parks or ends.
func (r *run[S]) loop(ctx context.Context) (*Result[S], error) {
	for {
		h := r.sess.Head()
		switch {
		case len(h.Next) == 0 || h.Status == posthouse.StatusCancelled:
			return r.finish(EventEnd, *r.live.state, nil), nil
		case r.stop, engine.Draining(ctx):
			return r.finish(EventPark, *r.live.state, nil), nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := r.pick(h)
		if err != nil {
			return nil, err
		}
		if r.ran >= r.limit {
			return nil, r.overrun(ctx, n)
		}
		r.ran++
		r.last[n.index] = r.ran
		res, err := r.step(ctx, n)
		if res != nil || err != nil {
			return res, err
		}
	}
}

// pick finds the node to run.
func (r *run[S]) pick(h *posthouse.Header) (*node[S], error) {
	if len(h.Next) == 1 {
		if n := r.app.nodes[h.Next[0]]; n != nil {
			return n, nil
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "thread",
		Message: "checkpoint " + string(h.ID) + " goes on at " + strings.Join(h.Next, ", ") + ", which this version of graph " + r.app.name + " cannot run",
		Hint:    "run it with the graph it was made by, or move it with UpdateOptions.Goto",
	}
}

// step runs one node and commits what came of it.
func (r *run[S]) step(ctx context.Context, n *node[S]) (*Result[S], error) {
	task, err := r.sess.Task(ctx, n.name)
	if err != nil {
		return nil, err
	}
	err = engine.Guard(func() error { return n.run(task.With(ctx), r.live.state) })
	switch {
	case r.sess.Err() != nil:
		return nil, r.broken(err)
	case task.Waiting():
		return r.park(ctx, n, task)
	case err != nil && ctx.Err() != nil:
		return nil, r.cancelled(ctx, task, err)
	case errors.Is(err, posthouse.ErrWaiting):
		err = invalid("node", "%q returned ErrWaiting without asking anything", n.name)
	}
	if err == nil {
		err = r.advance(ctx, n, task)
		if err == nil {
			return nil, r.tell(EventNode)
		}
		if r.sess.Err() != nil {
			return nil, err
		}
	}
	return nil, r.fail(ctx, n, task, err)
}

// advance commits what a node changed and where it leads.
func (r *run[S]) advance(ctx context.Context, n *node[S], task *engine.Task) error {
	next, err := r.app.route(n.way, r.live.state)
	if err != nil {
		return err
	}
	parts, err := r.live.delta()
	if err != nil {
		return err
	}
	c := r.node(n.name, next, parts)
	if n.after && len(next) > 0 {
		c.Status = posthouse.StatusInterrupted
	}
	if c.Status != posthouse.StatusRunning && !r.app.check {
		if err := r.live.verify(); err != nil {
			return err
		}
	}
	return r.commit(ctx, task)
}

// node makes the change of a completed node.
func (r *run[S]) node(name string, next []string, parts []posthouse.Part) *posthouse.Change {
	c := r.fresh(posthouse.KindNode, posthouse.StatusRunning, name, next)
	c.Parts = parts
	if len(next) == 0 {
		c.Status = posthouse.StatusDone
	} else if r.app.nodes[next[0]].before {
		c.Status = posthouse.StatusInterrupted
	}
	return c
}

func (r *run[S]) fresh(kind string, status posthouse.Status, node string, next []string) *posthouse.Change {
	r.change = posthouse.Change{
		Kind: kind, Status: status, Graph: r.app.name, Fingerprint: r.app.fingerprint, Node: node, Next: next,
	}
	return &r.change
}

// commit commits r.change with what the task holds.
func (r *run[S]) commit(ctx context.Context, task *engine.Task) error {
	r.draft = posthouse.Draft{Checkpoint: &r.change}
	if task != nil {
		r.draft.Steps = task.Held()
	}
	r.stop = r.change.Status == posthouse.StatusInterrupted
	_, err := r.sess.Commit(ctx, &r.draft)
	return err
}
