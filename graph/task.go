package graph

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/trace"
)

// A task is one execution of a node in a step.
type task struct {
	*frontier.Target
	run      *run
	node     *node
	index    int  // in the step
	parallel bool // it runs on a state of its own, whatever else the step has

	outcome outcome        // of perform
	key     engine.TaskKey // as in "7/approve", or "7/fetch#3" for the third task of its step if it was sent an input
}

func (t *task) label() string { return t.Target.Label(t.Target.Node, t.index) }

// title is label for people, with the name as it is.
func (t *task) title() string {
	if t.Input == nil {
		return t.node.Name
	}
	return t.node.Name + "#" + strconv.Itoa(t.index+1)
}

type outcomeKind uint8

const (
	taskDone    outcomeKind = iota
	taskWaits               // for a gate, or for its next attempt
	taskHalts               // in a subgraph, at a static interrupt
	taskIdle                // in a subgraph, or between two attempts, when the run was asked to drain
	taskFailed              // for good
	taskStopped             // its context ended, or the run's session did; nothing is known of it
)

// An outcome is how a task ended.
type outcome struct {
	task     *task
	kind     outcomeKind
	exec     *engine.Task
	live     *state.Live       // the state it worked on
	writes   []state.Write     // what it changed, of a task that ran beside others
	lead     Command           // of the node
	next     []frontier.Target // where the run goes on
	parent   []string          // where the graph around goes on, if the subgraph ends here
	program  []posthouse.Part  // what it does to the program's parts
	err      error
	open     []*posthouse.Gate // of a task that was not run, because it would only wait on
	recorded bool              // its result is on record
	attempt  int               // from 1
	began    time.Time         // the attempt, if a stream asks for it
	tale     recorded.Tale     // of the attempt
	note     string            // of a task that waits: it returned all the same
}

// perform runs a task until it completes, waits, or fails for good. state returns the
// state to work on; again says that an attempt changed the one before.
func (t *task) perform(ctx context.Context, state func(again bool) (*state.Live, error)) *outcome {
	r := t.run
	o := &t.outcome
	for again := false; ; again = true {
		exec, err := engine.NewTask(ctx, r.sess, t.key)
		if err != nil {
			return o.finish(taskStopped, err)
		}
		o.exec = exec
		replays := r.app.traces && exec.Records().Replaying()
		if r.subrun != nil {
			r.subrun.exec.Adopt(exec)
		}
		past, err := recorded.ReadAttempts(exec)
		if err != nil {
			return o.finish(taskFailed, err)
		}
		if again {
			r.reportRetry(o, past)
			o.err = nil
		}
		// Before the wait, since the last attempt's changes are not needed.
		o.live, err = state(again)
		if err != nil {
			return o.finish(taskStopped, err)
		}
		if past.Failed == nil && !past.Due.IsZero() {
			if kind, err := t.awaitAttempt(ctx, exec, past); kind != taskDone {
				return o.finish(kind, err)
			}
		}
		o.attempt = past.Number()
		if r.reportTask(o, runs.EventTaskStart, nil, time.Time{}); ctx.Err() != nil {
			return o.finish(taskStopped, context.Cause(ctx))
		}
		began, err := r.sess.Lease().Begin(ctx)
		if err != nil {
			return o.finish(taskStopped, err)
		}
		o.tale, o.lead = recorded.Tale{Began: began, Attempts: o.attempt, Cause: past.Cause}, Command{}
		h := t.hold(ctx)
		if r.app.traces {
			err = h.Over(t.traced(h.Context, o, past, replays))
		} else {
			err = h.Over(t.attempt(h.Context, o, past))
		}
		if h != r.hold {
			h.Free()
		}
		may := t.node.opt.Targets
		if o.lead.Parent {
			may = nil // they are of its own graph
		}
		t.node.toOuterNames(&o.lead)
		within, ended := errors.AsType[*subgraphEnd](err)
		switch {
		case ended && r.sess.Err() == nil:
			o.open, o.note = within.open, within.note
			return o.finish(within.kind, nil)
		case r.sess.Err() != nil, err != nil && ctx.Err() != nil && !exec.Waiting():
			return o.finish(taskStopped, err)
		case exec.Waiting():
			if err == nil {
				o.note = exec.Gates().Swallowed("node "+strconv.Quote(t.node.Name), "what it changed in the state is dropped, and it is executed again then")
			}
			return o.finish(taskWaits, nil)
		case err != nil && errors.Is(err, posthouse.ErrWaiting):
			err = posthouse.Invalid("node", "%q returned ErrWaiting without asking anything", t.Target.Node)
		}
		if err == nil {
			if err := t.takeWrites(o); err != nil {
				return o.finish(taskFailed, err)
			}
			err = t.leadOn(o, may)
			if err == nil {
				return o
			}
		}
		err, broken := exec.Records().EndedBy(err)
		if broken {
			return o.finish(taskFailed, err)
		}
		if again, e := t.recordAttempt(ctx, exec, past, err); !again {
			return o.finish(taskFailed, errors.Join(err, e))
		}
		o.err = err
	}
}

// hold returns the context of an attempt. Tasks that are alone in their steps share one.
func (t *task) hold(ctx context.Context) *session.Hold {
	r := t.run
	if !r.frontier.IsAlone() {
		return r.sess.Lease().Hold(ctx)
	}
	if !r.hold.Serves(ctx) {
		r.hold.Free()
		r.hold = r.sess.Lease().Hold(ctx)
	}
	return r.hold
}

// leadOn notes where the run goes on after the node. may are the targets of its commands.
func (t *task) leadOn(o *outcome, may []string) (err error) {
	n := t.node
	switch {
	case o.lead.Parent:
		err = t.checkParentCommand(&o.lead)
		if err == nil {
			o.parent = o.lead.Goto
		}
	case n.Edges && o.lead.isZero():
		o.next = []frontier.Target{{Node: n.Name, Edges: true, At: n.Index + 1}}
	default:
		o.next, err = t.run.app.route(n, may, &o.lead, o.live.Value)
	}
	return err
}

// takeWrites notes what a node wrote, and applies the rules of parts to it. Its
// transitions then see what the next node would see if the task were alone.
func (t *task) takeWrites(o *outcome) (err error) {
	if t.parallel {
		o.writes, err = o.live.Writes()
		if err != nil {
			return err
		}
	}
	if t.Input != nil {
		return nil // it began with nothing
	}
	return o.live.ApplyRules(t.node.Name, t.parallel)
}

func (o *outcome) finish(kind outcomeKind, err error) *outcome {
	o.kind, o.err = kind, err
	return o
}

// traced is attempt in a span.
func (t *task) traced(ctx context.Context, o *outcome, past recorded.Attempts, replays bool) (err error) {
	ctx, end := o.exec.Traced(ctx, &trace.Span{Kind: trace.KindNode, Name: t.label(), Attempt: o.attempt, Replay: replays})
	err = engine.ErrPanicked
	defer func() { end(err) }()
	return t.attempt(ctx, o, past)
}

// attempt runs the node once, or its handler if it has failed for good. It notes in o
// what a command says.
func (t *task) attempt(ctx context.Context, o *outcome, past recorded.Attempts) error {
	r := t.run
	exec, s := o.exec, o.live.Value
	exec.SetLocal(o.live)
	defer exec.Close()
	ctx = exec.With(ctx)
	if em := r.emitter(o); em != nil {
		defer em.Close()
		ctx = em.With(ctx)
	}
	if past.Failed != nil {
		cause := &NodeError{
			Graph: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Node: t.node.Name, Err: RecordedError(*past.Failed),
		}
		ctx = exec.Scope(ctx, recorded.Failed, 0)
		handle := func(ctx context.Context, lead *Command) error {
			return engine.Guard(func() (err error) { *lead, err = t.node.onError(ctx, s, cause); return err })
		}
		err := error(nil)
		if r.opt.bounded {
			err = engine.RunLimited(ctx, exec, t.node.Name, engine.Limits{}, &o.lead, handle)
		} else {
			err = handle(ctx, &o.lead)
		}
		if in := t.node.sub; err == nil && in != nil && !in.ownThread { // the call that failed has ended
			o.program = r.Completion(r.pathTo(t.label()), nil, in.lifetime == PerThread)
		}
		return err
	}
	sent := topology.NoInput
	if t.Input != nil {
		sent = r.app.Received(t.Target)
	}
	if !t.isBounded() {
		return t.runNode(ctx, o, s, sent, &o.lead)
	}
	err := engine.RunLimited(ctx, exec, t.node.Name, t.limits(), &o.lead, func(ctx context.Context, lead *Command) error {
		return t.runNode(ctx, o, s, sent, lead)
	})
	if err != nil && t.node.sub != nil {
		o.program = nil // its time was up, even if it has ended since
	}
	return err
}

// runNode runs the node's subgraph or its code. A panic of the code is an error.
func (t *task) runNode(ctx context.Context, o *outcome, s any, sent topology.Decoder, lead *Command) (err error) {
	n := o.task.node
	if n.sub != nil {
		*lead, err = n.sub.call(ctx, t.run, o)
		return err
	}
	return engine.Guard(func() error { return n.run(ctx, s, sent, lead) })
}

// checkParentCommand checks a command to the graph around a subgraph.
func (t *task) checkParentCommand(c *Command) error {
	r, from := t.run, t.Target.Node
	switch {
	case r.subrun == nil:
		return posthouse.Invalid("command", "of %q leads to the graph around graph %q, which is not a subgraph here", from, r.app.name)
	case len(c.Send) > 0:
		return posthouse.Invalid("command", "of %q sends inputs to the graph around its own: lead to a node there that sends them", from)
	case len(c.Goto) == 0:
		return posthouse.Invalid("command", "of %q leads to the graph around its own, but names no node", from)
	}
	return nil
}

// A RecordedError is the error of an attempt as the log has it.
type RecordedError string

// Error returns the recorded text.
func (e RecordedError) Error() string { return string(e) }
