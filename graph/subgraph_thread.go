package graph

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/runs"
)

// callThread runs the subgraph in a thread of its own, or goes on with a call that has begun.
func (in *inner) callThread(ctx context.Context, r *run, o *outcome) (Command, error) {
	thread := calls.ThreadName(r.sess.Head(), r.sess.Birth(), o.task.key.String(), uint8(in.lifetime), in.lifetime == PerCall)
	opt := RunOptions{
		By: r.opt.By, Durability: r.opt.Durability, bounded: o.task.isBounded(),
		OnBusy:       runs.Enqueue,                               // its own program may be moving the thread
		Coordination: r.sess.Head().Coordination, Withdraw: true, // the caller's input was refused, or may
		labels: map[string]string{calls.LabelParent: r.sess.Thread(), calls.LabelCall: subparts.Shorten(o.task.key.String()), calls.LabelCalled: thread},
	}
	if b := r.sess.Branch(); b != posthouse.MainBranch {
		opt.labels[calls.LabelBranch] = b
	}
	var h *stream.Hub
	if r.opt.Subgraphs && r.report.Hub != nil {
		h, opt.path, opt.Subgraphs = r.report.Hub, o.task.label(), true
		if in := r.report.Path; in != "" {
			opt.path = in + "/" + o.task.label()
		}
	}
	defer r.sess.Cancellation().Watch(ctx)() // the caller commits nothing while the subgraph runs
	over := r.NoteCall(thread)
	call := &calls.Call{Ledger: r.app.ledger, Session: r.sess, Task: o.exec, Thread: thread, Labels: opt.labels}
	path := r.pathTo(o.task.label())
	begun, ended, err := call.State(ctx, func() (calls.Position, error) { return r.KeptChild(path) })
	if err != nil {
		return Command{}, r.sess.Unanswered(err)
	}
	var res *result
	switch {
	case ended != "":
		s, err := in.app.state(ctx, thread, ended)
		if err != nil {
			return Command{}, r.sess.Unanswered(err)
		}
		res = &result{State: s.State, Status: s.Status, Thread: thread, Checkpoint: ended}
	case begun:
		res, err = in.run(ctx, r, thread, &opt, h, nil)
	default:
		var first *input
		opt.asked, err = r.sess.Record().Requesters(ctx)
		if err != nil {
			return Command{}, err
		}
		first, err = in.input(o.live.Value)
		if err == nil {
			res, err = in.run(ctx, r, thread, &opt, h, first)
		}
	}
	if err == nil && posthouse.IsOver(res.Status) {
		over()
	}
	if err != nil || res.Status == posthouse.StatusCancelled {
		if e := call.NoteRequesters(context.WithoutCancel(ctx)); e != nil {
			return Command{}, errors.Join(err, e)
		}
	}
	switch {
	case err != nil:
		return Command{}, err
	case res.Status == posthouse.StatusCancelled:
		return Command{}, &posthouse.Error{Code: posthouse.CodeCancelled, Message: "thread " + thread + " of the subgraph was cancelled"}
	case res.Status != posthouse.StatusDone:
		return Command{}, in.parkForChild(ctx, call, res)
	}
	keep := ""
	if in.lifetime == PerThread {
		keep = path
	}
	o.program, err = call.Ended(ctx, res.Checkpoint, keep)
	if err != nil {
		return Command{}, err
	}
	return Command{}, in.output(o.live.Value, res.State)
}

// run runs the subgraph in its thread. Where the store did not answer that run, so that nothing of
// it is on record, the caller has not failed either.
func (in *inner) run(ctx context.Context, r *run, thread string, o *RunOptions, h *stream.Hub, first *input) (*result, error) {
	res, err := in.app.front.Do(ctx, thread, o, h, first)
	if e, ok := errors.AsType[*NodeError](err); ok && e.Checkpoint != "" {
		return res, err // it failed, on record
	}
	return res, r.sess.Unanswered(err)
}

// parkForChild parks the caller until the subgraph's thread goes on.
func (in *inner) parkForChild(ctx context.Context, call *calls.Call, res *result) error {
	if res.Status == posthouse.StatusRunning {
		return &subgraphEnd{kind: taskIdle} // it was asked to drain
	}
	waits, err := call.Park(ctx, res.Checkpoint, res.Status)
	switch {
	case err != nil:
		return err
	case waits:
		return &subgraphEnd{kind: taskWaits}
	}
	return &subgraphEnd{kind: taskHalts}
}

// Programs returns what a runner needs to move threads of the graph. These are the App
// itself and the subgraphs that run in threads of their own.
func (a *App[S]) Programs() []posthouse.Program {
	programs := a.core.programs()
	programs[0] = a
	return programs
}

func (a *core) programs() []posthouse.Program {
	programs := []posthouse.Program{a}
	for _, n := range a.order {
		if n.sub != nil {
			programs = append(programs, n.sub.programs()...)
		}
	}
	return programs
}

func (in *inner) programs() []posthouse.Program {
	all := in.app.programs()
	if !in.ownThread {
		return all[1:]
	}
	all[0] = calls.NewProgram(all[0], in.app.ledger)
	return all
}
