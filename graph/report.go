package graph

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/report"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/runs"
)

// told returns the attempt as a stream is told of it.
func (o *outcome) told() report.Attempt {
	return report.Attempt{Node: posthouse.EscapeName(o.task.node.Name), Task: o.task.key.String(), Number: o.attempt, Began: o.began}
}

// reportTask reports that an attempt begins, or what became of it. It notes when the attempt
// began.
func (r *run) reportTask(o *outcome, kind runs.EventKind, failed error, due time.Time) {
	if r.report.Hub != nil {
		o.began = r.report.Task(o.told(), kind, failed, due)
	}
}

// reportRetry reports a failed attempt, after which another one or the handler follows.
func (r *run) reportRetry(o *outcome, past recorded.Attempts) {
	if past.Failed != nil {
		r.reportTask(o, runs.EventTaskError, o.err, time.Time{})
	} else {
		r.reportTask(o, runs.EventTaskRetry, o.err, past.Due)
	}
}

func (r *run) reportTaskEnd(o *outcome) {
	kinds := [...]runs.EventKind{
		taskDone: runs.EventTaskFinish, taskWaits: runs.EventTaskWait, taskHalts: runs.EventTaskStop, taskIdle: runs.EventTaskStop,
		taskFailed: runs.EventTaskError, taskStopped: runs.EventTaskStop,
	}
	r.reportTask(o, kinds[o.kind], o.err, time.Time{})
}

// reportStep reports a step once it is on record: what its tasks changed, and its state.
func (r *run) reportStep(done []*outcome) error {
	if r.report.Hub == nil {
		return nil
	}
	for _, o := range done {
		r.report.Update(o.told(), o.writes)
	}
	return r.report.Values(runs.EventNode, r.record.change.Node, r.live)
}

// emitter returns what forwards the emissions of an attempt, nil if no stream asks for them.
func (r *run) emitter(o *outcome) *stream.Emitter {
	if r.report.Hub == nil {
		return nil
	}
	return r.report.Emitter(o.told())
}

// result makes the result of a run that parked or ended.
func (r *run) result(kind runs.EventKind, state any, waiting []posthouse.Gate) *result {
	return r.resultAt(kind, r.sess.Head(), state, waiting)
}

// resultAt is result for a run that parked or ended at a checkpoint.
func (r *run) resultAt(kind runs.EventKind, h *posthouse.Header, state any, waiting []posthouse.Gate) *result {
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
