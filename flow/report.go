package flow

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

func (a *App[In, Out]) reportEnd(ctx context.Context, h *stream.Hub, res *Result[Out]) error {
	n := stream.Notice{Kind: runs.EventPark, Result: res}
	if res.Status == posthouse.StatusDone || res.Status == posthouse.StatusCancelled {
		n.Kind = runs.EventEnd
	}
	if res.Checkpoint != "" {
		c, err := a.ledger.GetHeader(ctx, res.Checkpoint)
		if err != nil {
			return err
		}
		n.Node, n.Checkpoint = c.Node, *c
	}
	h.Send(n)
	return nil
}

func (r *run[In, Out]) reportCommit(d *ledger.Draft, c *posthouse.Committed, began time.Time) {
	if c.Checkpoint != nil {
		r.reportCheckpoint(began)
	}
	for _, s := range engine.Results(r.key, d.Steps) {
		r.reportResult(runs.EventNode, s.Name, engine.CallName(&s), map[string]posthouse.Value{s.Name: s.Value})
	}
	switch x := d.Checkpoint; {
	case x == nil:
	case x.Kind == posthouse.KindInput:
		r.reportResult(runs.EventInput, "", "", nil)
	case x.Kind == posthouse.KindNode:
		p := x.Parts[0]
		r.reportResult(runs.EventNode, r.app.node, "", map[string]posthouse.Value{p.Name: {Codec: p.Codec, Data: p.Data}})
	}
}

// reportCheckpoint reports the head, which was just committed.
func (r *run[In, Out]) reportCheckpoint(began time.Time) {
	mode := r.hub.Wants(runs.StreamCheckpoints, runs.StreamDebug)
	if mode == "" {
		return
	}
	h, now := r.sess.Head(), r.app.ledger.Now()
	r.hub.Send(stream.Notice{Kind: runs.EventCheckpoint, Mode: mode, Node: h.Node, Checkpoint: *h, At: now, Took: now.Sub(began)})
}

// reportResult reports the input, the result of a step or the output, as an update and as
// values.
func (r *run[In, Out]) reportResult(kind runs.EventKind, node, call string, updates map[string]posthouse.Value) {
	n := stream.Notice{Mode: r.hub.Wants(runs.StreamUpdates), Node: node, Step: call, Task: r.key, Checkpoint: *r.sess.Head()}
	if n.Mode != "" && updates != nil {
		n.Kind, n.Updates = runs.EventUpdate, updates
		r.hub.Send(n)
	}
	n.Mode = r.hub.Wants(runs.StreamValues)
	if n.Mode == "" || r.hub.Gone() {
		return
	}
	var v values[In, Out]
	n.Kind, n.Updates = kind, nil
	v.in, _ = posthouse.Decode[In](r.data, r.app.codec) // if it does not decode, the function is not executed
	if out, ok := updates[partOutput]; ok && node == r.app.node {
		v.out, _ = posthouse.Decode[Out](out, r.app.codec) // it did, before it was committed
	}
	n.State = v
	r.hub.Send(n)
}

// reportStart reports that the function is executed, and has its steps reported.
func (r *run[In, Out]) reportStart(task *engine.Task) {
	mode := r.hub.Wants(runs.StreamTasks, runs.StreamDebug)
	if mode == "" {
		return
	}
	r.began = r.app.ledger.Now()
	r.hub.Send(r.taskNotice(runs.EventTaskStart, mode, r.began))
	task.OnStep(func(e engine.StepEvent) {
		n := r.taskNotice(e.Kind, mode, e.At)
		n.Node, n.Step, n.Attempt, n.Err, n.Due, n.Took = e.Outer, e.Step, e.Attempt, e.Err, e.Due, e.Took
		r.hub.Send(n)
	})
}

// reportOutcome reports what became of the function, this time.
func (r *run[In, Out]) reportOutcome(ctx context.Context, task *engine.Task, failed error) {
	mode := r.hub.Wants(runs.StreamTasks, runs.StreamDebug)
	if mode == "" {
		return
	}
	now := r.app.ledger.Now()
	n := r.taskNotice(runs.EventTaskFinish, mode, now)
	n.Err, n.Took = failed, now.Sub(r.began)
	switch {
	case r.sess.Cancellation().Asked(), r.sess.Err() != nil, r.stopped.Load():
		n.Kind = runs.EventTaskStop
	case task.Waiting() && !isOrder(failed):
		n.Kind, n.Err = runs.EventTaskWait, nil
	case failed != nil && ctx.Err() != nil:
		n.Kind = runs.EventTaskStop
	case failed != nil:
		n.Kind = runs.EventTaskError
	}
	r.hub.Send(n)
}

func (r *run[In, Out]) taskNotice(kind runs.EventKind, mode runs.StreamMode, at time.Time) stream.Notice {
	return stream.Notice{Kind: kind, Mode: mode, Node: r.app.node, Task: r.key, Attempt: r.passes, At: at}
}

func (r *run[In, Out]) emitter() *stream.Emitter {
	return r.hub.Emitter(func(e *stream.Emission) stream.Notice {
		n := stream.Notice{Node: r.app.node, Task: r.key, Attempt: r.passes}
		if e.Outer != "" {
			n.Node, n.Attempt = e.Outer, e.Attempt
		}
		return n
	})
}
