package graph

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// lookAgain is how long a caller waits before it looks itself whether the thread that it
// called went on. The thread's program wakes it earlier, unless its process was lost.
const lookAgain = 24 * time.Hour

func (in *inner) callThread(ctx context.Context, r *run, o *outcome) (Command, error) {
	thread := calls.ThreadName(r.sess.Head(), r.sess.Birth(), o.task.key.String(), uint8(in.lifetime), in.lifetime == PerCall)
	opt := RunOptions{
		By: r.opt.By, Durability: r.opt.Durability, bounded: o.task.isBounded(),
		OnBusy:       runs.Enqueue, // its own program may be moving the thread
		Coordination: r.sess.Head().Coordination,
		labels:       map[string]string{calls.LabelParent: r.sess.Thread(), calls.LabelCall: subparts.Shorten(o.task.key.String()), calls.LabelCalled: thread},
	}
	if b := r.sess.Branch(); b != posthouse.MainBranch {
		opt.labels[calls.LabelBranch] = b
	}
	var h *stream.Hub
	if r.opt.Subgraphs && r.report.hub != nil {
		h, opt.path, opt.Subgraphs = r.report.hub, o.task.label(), true
		if in := r.report.path(); in != "" {
			opt.path = in + "/" + o.task.label()
		}
	}
	over := r.NoteCall(thread)
	begun, ended, err := in.callState(ctx, r, thread, &opt, o)
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
		if opt.asked, err = r.sess.Record().Requesters(ctx); err != nil {
			return Command{}, err
		}
		if first, err = in.input(o.live.Value); err == nil {
			res, err = in.run(ctx, r, thread, &opt, h, first)
		}
	}
	if err == nil && posthouse.IsOver(res.Status) {
		over()
	}
	if err != nil || res.Status == posthouse.StatusCancelled {
		if e := r.noteChanged(context.WithoutCancel(ctx), o, thread); e != nil {
			return Command{}, errors.Join(err, e)
		}
	}
	switch {
	case err != nil:
		return Command{}, err
	case res.Status == posthouse.StatusCancelled:
		return Command{}, &posthouse.Error{Code: posthouse.CodeCancelled, Message: "thread " + thread + " of the subgraph was cancelled"}
	case res.Status != posthouse.StatusDone:
		return Command{}, in.parkForChild(ctx, r, o, res)
	}
	if in.lifetime == PerThread {
		data, err := json.Marshal(calls.Position{Thread: res.Thread, Checkpoint: res.Checkpoint})
		if err != nil {
			return Command{}, err
		}
		o.program = []posthouse.Part{{Name: calls.KeptPrefix + r.pathTo(o.task.label()), Codec: posthouse.JSON.Name(), Data: data}}
	}
	if o.program, err = r.addRequesters(ctx, o.program, res.Checkpoint); err != nil {
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

// callState reports whether the thread of a call has been given its input. If the thread
// has gone on with another call since, callState returns where this one ended: the caller
// lost the results of its calls, and makes them again. A fork of the caller goes on, in a
// thread of its own, from what the original's subgraph had done when the caller parked,
// or else from what its earlier calls kept.
func (in *inner) callState(ctx context.Context, r *run, thread string, opt *RunOptions, o *outcome) (begun bool, ended posthouse.ID, err error) {
	l, exec, was := r.app.ledger, o.exec, calls.Position{}
	for !exec.Fresh() {
		rec, ok := exec.Records().Recorded(calls.PositionStep)
		if !ok {
			break
		}
		if err := json.Unmarshal(rec.Value.Data, &was); err != nil {
			return false, "", err
		}
	}
	q := posthouse.Query{Thread: thread, Label: calls.LabelCall, LabelValue: opt.labels[calls.LabelCall], Limit: 1}
	for h, err := range l.List(ctx, q) {
		if err != nil {
			return false, "", err
		}
		ended, err = calls.EndOf(ctx, l, h)
		return err == nil, ended, err
	}
	labels := opt.labels
	if begun = was.Thread != ""; !begun {
		if was, err = r.KeptChild(r.pathTo(o.task.label())); err != nil {
			return false, "", err
		}
		labels = maps.Clone(labels)
		delete(labels, calls.LabelCall) // the copy's call has not begun
	}
	if was.Thread == "" || was.Thread == thread {
		return false, "", nil
	}
	_, err = l.Fork(ctx, was.Checkpoint, &ledger.ForkOptions{Thread: thread, Labels: labels})
	if errors.Is(err, posthouse.ErrExists) {
		return false, "", nil // it lives per thread and was called before
	}
	return begun && err == nil, "", err
}

// parkForChild parks the caller until the subgraph's thread goes on.
func (in *inner) parkForChild(ctx context.Context, r *run, o *outcome, res *result) error {
	if res.Status == posthouse.StatusRunning {
		return &subgraphEnd{kind: taskIdle} // it was asked to drain
	}
	data, err := json.Marshal(calls.Position{Thread: res.Thread, Checkpoint: res.Checkpoint})
	if err != nil {
		return err
	}
	o.exec.Records().Hold(posthouse.Step{Name: calls.PositionStep, Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}})
	if res.Status != posthouse.StatusWaiting {
		return &subgraphEnd{kind: taskHalts}
	}
	for {
		_, err := o.exec.Gates().Ask(ctx, posthouse.Gate{
			Name: "$thread", Kind: posthouse.GateThread, Text: res.Thread, Payload: data,
			ExpiresAt: in.app.ledger.Now().Add(lookAgain),
		})
		if errors.Is(err, posthouse.ErrWaiting) {
			if err := calls.CancelInherited(ctx, in.app.ledger, o.exec.Gates().Open(), res.Thread); err != nil {
				return r.sess.Unanswered(err)
			}
			return &subgraphEnd{kind: taskWaits}
		}
		if err != nil {
			return err
		}
	}
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

// changedBy returns who is a requester of a thread that was called, and not of the run.
func (r *run) changedBy(ctx context.Context, end posthouse.ID) ([]posthouse.Requester, error) {
	c, err := r.app.ledger.Get(ctx, end)
	if err != nil {
		return nil, r.sess.Unanswered(err)
	}
	list, err := posthouse.ReadRequesters(c.Program)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	own, err := r.sess.Record().Requesters(ctx)
	return slices.DeleteFunc(list, func(o posthouse.Requester) bool {
		return slices.ContainsFunc(own, func(r posthouse.Requester) bool { return r.Name == o.Name && r.How == o.How })
	}), err
}

// noteChanged makes who changed a thread that was called, and did not complete, requesters of the
// run: what its error says becomes part of what the caller does. The record goes with that of the
// failure.
func (r *run) noteChanged(ctx context.Context, o *outcome, thread string) error {
	info, err := r.app.ledger.Thread(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		return r.sess.Unanswered(err)
	}
	b, ok := info.Branch(posthouse.MainBranch)
	if !ok {
		return nil
	}
	list, err := r.changedBy(ctx, b.Head)
	if err != nil || len(list) == 0 {
		return err
	}
	step, err := senders.Others(calls.PositionStep, list)
	if err != nil {
		return err
	}
	o.exec.Records().Hold(step)
	r.sess.Record().NoteRequesters(list)
	return nil
}

// addRequesters adds to the parts that a call changes who is a requester of the thread that was
// called, and not of the run: what they changed there becomes part of the caller's state.
func (r *run) addRequesters(ctx context.Context, parts []posthouse.Part, end posthouse.ID) ([]posthouse.Part, error) {
	list, err := r.changedBy(ctx, end)
	if err != nil || len(list) == 0 {
		return parts, err
	}
	data, err := json.Marshal(list)
	return append(parts, posthouse.Part{Name: posthouse.RequestersPart, Codec: posthouse.JSON.Name(), Data: data}), err
}
