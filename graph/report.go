package graph

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// reportState reports the head with its state to the reader, if there is one for it.
func (r *run[S]) reportState(kind EventKind) error {
	mode := r.hub.Wants(StreamValues)
	if mode == "" || r.hub.Gone() {
		return nil
	}
	state, err := r.live.Copy()
	if err != nil {
		return err
	}
	n := r.newNotice(kind, mode)
	n.State = state
	r.hub.Tell(n)
	return nil
}

// newNotice makes one about the step that was completed, or the change that was
// committed, last.
func (r *run[S]) newNotice(kind EventKind, mode StreamMode) engine.Notice {
	return engine.Notice{Kind: kind, Mode: mode, Path: r.path(), Node: r.change.Node, Checkpoint: *r.sess.Head()}
}

// path returns where in the graph around it a subgraph is.
func (r *run[S]) path() string {
	switch {
	case r.subrun == nil:
		return r.opt.path
	case r.opt.path != "":
		return r.opt.path + "/" + r.subrun.path
	}
	return r.subrun.path
}

// reportCheckpoint reports the head, which was just committed.
func (r *run[S]) reportCheckpoint(began time.Time) {
	mode := r.hub.Wants(StreamCheckpoints, StreamDebug)
	if mode == "" {
		return
	}
	n := r.newNotice(EventCheckpoint, mode)
	n.At = r.app.ledger.Now()
	n.Took = n.At.Sub(began)
	r.hub.Tell(n)
}

// reportUpdates reports what the tasks of a step changed, once it is on record.
func (r *run[S]) reportUpdates(done []*outcome[S]) {
	mode := r.hub.Wants(StreamUpdates)
	if mode == "" {
		return
	}
	for _, o := range done {
		n := r.newNotice(EventUpdate, mode)
		n.Node, n.Task, n.Updates = escapeName(o.task.node.name), o.task.key.String(), make(map[string]posthouse.Value, len(o.writes))
		for _, w := range o.writes {
			n.Updates[w.Field.Part] = w.Value()
		}
		r.hub.Tell(n)
	}
}

// reportStart reports that an attempt begins, and remembers when.
func (r *run[S]) reportStart(o *outcome[S]) {
	if mode := r.hub.Wants(StreamTasks, StreamDebug); mode != "" {
		o.began = r.app.ledger.Now()
		r.hub.Tell(r.taskNotice(o, EventTaskStart, mode))
	}
}

// reportRetry reports a failed attempt that is not the end of its task.
func (r *run[S]) reportRetry(o *outcome[S], p *attemptRecord, err error) {
	mode := r.hub.Wants(StreamTasks, StreamDebug)
	if mode == "" {
		return
	}
	n := r.taskNotice(o, EventTaskRetry, mode)
	n.Err, n.Due = err, p.due
	if p.failed != nil {
		n.Kind, n.Due = EventTaskError, time.Time{}
	}
	r.hub.Tell(n)
}

// reportEnd reports what became of a task.
func (r *run[S]) reportEnd(o *outcome[S]) {
	mode := r.hub.Wants(StreamTasks, StreamDebug)
	if mode == "" {
		return
	}
	kinds := [...]EventKind{
		taskDone: EventTaskFinish, taskWaits: EventTaskWait, taskHalts: EventTaskStop, taskIdle: EventTaskStop,
		taskFailed: EventTaskError, taskStopped: EventTaskStop,
	}
	n := r.taskNotice(o, kinds[o.kind], mode)
	n.Err = o.err
	r.hub.Tell(n)
}

func (r *run[S]) taskNotice(o *outcome[S], kind EventKind, mode StreamMode) engine.Notice {
	n := engine.Notice{
		Kind: kind, Mode: mode, Path: r.path(), Node: escapeName(o.task.node.name), Task: o.task.key.String(), Attempt: o.attempt, At: r.app.ledger.Now(),
	}
	if kind != EventTaskStart && !o.began.IsZero() {
		n.Took = n.At.Sub(o.began)
	}
	return n
}

// finish makes the result of a run that parked or ended, and reports it.
func (r *run[S]) finish(kind EventKind, state S, waiting []posthouse.Gate) *Result[S] {
	return r.finishAt(kind, r.sess.Head(), state, waiting)
}

// finishAt is finish for a run that came to its end at a checkpoint.
func (r *run[S]) finishAt(kind EventKind, h *posthouse.Header, state S, waiting []posthouse.Gate) *Result[S] {
	res := &Result[S]{
		State: state, Thread: h.Thread, Branch: h.Branch, Run: r.sess.Run(), Checkpoint: h.ID,
		Status: h.Status, Next: slices.Clone(h.Next), Waiting: waiting, Release: r.version,
	}
	if kind == EventPark && len(waiting) == 0 && h.Status != posthouse.StatusInterrupted {
		res.Status = posthouse.StatusRunning // it was asked to drain, behind whatever the head is
	}
	if r.hub != nil && r.subrun == nil && r.opt.path == "" {
		r.hub.Tell(engine.Notice{Kind: kind, Node: h.Node, Checkpoint: *h, State: state, Result: res})
	}
	return res
}

// emitter returns what hands on what one attempt of a task emits, nil if nobody
// listens.
func (r *run[S]) emitter(t *task[S], attempt int) *engine.Emitter {
	if r.hub.Wants(StreamMessages, StreamCustom) == "" {
		return nil
	}
	return r.hub.Emitter(func(*engine.Emission) engine.Notice {
		return engine.Notice{Path: r.path(), Node: escapeName(t.node.name), Task: t.key.String(), Attempt: attempt}
	})
}
