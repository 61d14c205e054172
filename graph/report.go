package graph

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/runs"
)

// A reporter sends what a run does to its stream, if there is one.
type reporter struct {
	run *run
	hub *stream.Hub // nil without a stream
}

// values reports the head with its state.
func (p *reporter) values(kind runs.EventKind) error {
	r := p.run
	mode := p.hub.Wants(runs.StreamValues)
	if mode == "" || p.hub.Gone() {
		return nil
	}
	state, err := r.live.Copy()
	if err != nil {
		return err
	}
	n := p.notice(kind, mode)
	n.State = state
	p.hub.Send(n)
	return nil
}

// notice makes a notice about the step that completed last, or the change that was
// committed last.
func (p *reporter) notice(kind runs.EventKind, mode runs.StreamMode) stream.Notice {
	r := p.run
	return stream.Notice{Kind: kind, Mode: mode, Path: p.path(), Node: r.record.change.Node, Checkpoint: *r.sess.Head()}
}

// path returns the path of a subgraph in the graph of the stream.
func (p *reporter) path() string {
	r := p.run
	switch {
	case r.subrun == nil:
		return r.opt.path
	case r.opt.path != "":
		return r.opt.path + "/" + r.subrun.path
	}
	return r.subrun.path
}

// checkpoint reports the head, which was just committed.
func (p *reporter) checkpoint(began time.Time) {
	r := p.run
	mode := p.hub.Wants(runs.StreamCheckpoints, runs.StreamDebug)
	if mode == "" {
		return
	}
	n := p.notice(runs.EventCheckpoint, mode)
	n.At = r.app.ledger.Now()
	n.Took = n.At.Sub(began)
	p.hub.Send(n)
}

// updates reports what the tasks of a step changed, once it is on record.
func (p *reporter) updates(done []*outcome) {
	mode := p.hub.Wants(runs.StreamUpdates)
	if mode == "" {
		return
	}
	for _, o := range done {
		n := p.notice(runs.EventUpdate, mode)
		n.Node, n.Task, n.Updates = posthouse.EscapeName(o.task.node.Name), o.task.key.String(), make(map[string]posthouse.Value, len(o.writes))
		for _, w := range o.writes {
			n.Updates[w.Field.Part] = w.Value()
		}
		p.hub.Send(n)
	}
}

// task reports that an attempt begins, or what became of it. It notes in o when the
// attempt began.
func (p *reporter) task(o *outcome, kind runs.EventKind, err error, due time.Time) {
	mode := p.hub.Wants(runs.StreamTasks, runs.StreamDebug)
	if mode == "" {
		return
	}
	n := stream.Notice{
		Kind: kind, Mode: mode, Path: p.path(), Node: posthouse.EscapeName(o.task.node.Name), Task: o.task.key.String(), Attempt: o.attempt,
		At: p.run.app.ledger.Now(), Err: err, Due: due,
	}
	switch {
	case kind == runs.EventTaskStart:
		o.began = n.At
	case !o.began.IsZero():
		n.Took = n.At.Sub(o.began)
	}
	p.hub.Send(n)
}

// taskRetry reports a failed attempt, after which another one or the handler follows.
func (p *reporter) taskRetry(o *outcome, past recorded.Attempts) {
	if past.Failed != nil {
		p.task(o, runs.EventTaskError, o.err, time.Time{})
	} else {
		p.task(o, runs.EventTaskRetry, o.err, past.Due)
	}
}

func (p *reporter) taskEnd(o *outcome) {
	kinds := [...]runs.EventKind{
		taskDone: runs.EventTaskFinish, taskWaits: runs.EventTaskWait, taskHalts: runs.EventTaskStop, taskIdle: runs.EventTaskStop,
		taskFailed: runs.EventTaskError, taskStopped: runs.EventTaskStop,
	}
	p.task(o, kinds[o.kind], o.err, time.Time{})
}

// result makes the result of a run that parked or ended.
func (p *reporter) result(kind runs.EventKind, state any, waiting []posthouse.Gate) *result {
	r := p.run
	return p.resultAt(kind, r.sess.Head(), state, waiting)
}

// resultAt is result for a run that parked or ended at a checkpoint.
func (p *reporter) resultAt(kind runs.EventKind, h *posthouse.Header, state any, waiting []posthouse.Gate) *result {
	r := p.run
	res := &result{
		State: state, Thread: h.Thread, Branch: h.Branch, Run: r.sess.Run(), Checkpoint: h.ID,
		Status: h.Status, Next: slices.Clone(h.Next), Waiting: waiting, Release: r.version,
	}
	if kind == runs.EventPark && len(waiting) == 0 && h.Status != posthouse.StatusInterrupted {
		res.Status = posthouse.StatusRunning // it was asked to drain
	}
	return res
}

// reportEnd reports the result of a run to its stream. By then the run has given the thread
// back: a reader may update and resume it, or run it again.
func (a *core) reportEnd(ctx context.Context, h *stream.Hub, res *result) error {
	n := stream.Notice{Kind: runs.EventPark, State: res.State, Result: res}
	if posthouse.IsOver(res.Status) {
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

// emitter returns what forwards the emissions of one attempt of a task. It is nil if
// the stream does not ask for them.
func (p *reporter) emitter(t *task, attempt int) *stream.Emitter {
	if p.hub.Wants(runs.StreamMessages, runs.StreamCustom) == "" {
		return nil
	}
	return p.hub.Emitter(func(*stream.Emission) stream.Notice {
		return stream.Notice{Path: p.path(), Node: posthouse.EscapeName(t.node.Name), Task: t.key.String(), Attempt: attempt}
	})
}
