package graph

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// execute runs the tasks of the step. Where there are several, a result is on
// record as soon as its task completed, unless all of them did.
func (s *step) execute(ctx context.Context) error {
	switch {
	case s.single:
		s.runSingle(ctx, s.todo[0])
	case len(s.todo) > 0:
		return (&workers{step: s}).runAll(ctx)
	}
	return nil
}

// runSingle runs the only task of the step, on the state of the run.
func (s *step) runSingle(ctx context.Context, t *task) {
	r := s.run
	o := t.perform(ctx, func(again bool) (*state.Live, error) {
		if again {
			err := r.reload(ctx)
			return r.live, err
		}
		return r.live, nil
	})
	if o.kind == taskDone && r.report.Hub.Wants(runs.StreamUpdates) != "" {
		o.writes, _ = o.live.Writes() // the merge reports the error
	}
	r.reportTaskEnd(o)
	s.outcomes[0] = o
}

// workers run the tasks of one step beside each other.
type workers struct {
	step *step
	next atomic.Int64 // the first task of the step's todo that is not taken
	stop atomic.Bool  // take no more
	out  chan *outcome
}

// runAll runs what is to do, and puts results on record as they come.
func (w *workers) runAll(ctx context.Context) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	width := min(w.step.run.app.width, len(w.step.todo))
	w.out = make(chan *outcome, width)
	var workers sync.WaitGroup
	for range width {
		workers.Go(func() { w.loop(own) })
	}
	go func() { workers.Wait(); close(w.out) }()
	var broken error
	left := len(w.step.todo)
	for o := range w.out {
		batch := []*outcome{o}
		for len(w.out) > 0 {
			batch = append(batch, <-w.out)
		}
		for _, o := range batch {
			left--
			w.step.outcomes[o.task.index] = o
			if o.kind == taskFailed || o.kind == taskStopped {
				w.stop.Store(true)
				if w.step.run.app.failFast || o.kind == taskStopped && !w.step.run.sess.Lease().Lapsed() { // an effect goes on
					cancel(errSibling)
				}
			}
		}
		if broken == nil && (left > 0 || !w.step.isDone()) {
			broken = w.step.recordResults(ctx, batch)
		}
		if broken != nil {
			w.stop.Store(true)
			cancel(broken)
		}
	}
	if broken == nil && !w.step.isDone() {
		broken = w.step.recordResults(ctx, w.step.outcomes)
	}
	return broken
}

// errSibling ends the tasks beside one that failed.
var errSibling = &posthouse.Error{Code: posthouse.CodeConflict, Message: "a task of the same step failed"}

func (w *workers) loop(ctx context.Context) {
	for !w.stop.Load() && !engine.Draining(ctx) {
		i := int(w.next.Add(1)) - 1
		if i >= len(w.step.todo) {
			return
		}
		t := w.step.todo[i]
		o := w.step.runBranch(ctx, t)
		w.step.run.reportTaskEnd(o)
		w.out <- o
	}
}

// runBranch performs a task on a state of its own. A panic of a codec is the task's.
func (s *step) runBranch(ctx context.Context, t *task) (o *outcome) {
	r := s.run
	err := engine.Guard(func() error {
		o = t.perform(ctx, func(bool) (*state.Live, error) { return branchOf(r.live, r.app.Schema, t) })
		return nil
	})
	if err != nil {
		o = t.outcome.finish(taskFailed, err)
	}
	o.live = nil
	return o
}

// recordResults puts completed tasks on record. They never run again, whatever becomes
// of the others.
func (s *step) recordResults(ctx context.Context, batch []*outcome) error {
	r := s.run
	var steps []posthouse.Step
	for _, o := range batch {
		if o == nil || o.recorded || o.kind != taskDone {
			continue
		}
		by := ""
		if len(r.renames()) > 0 {
			by = r.fingerprint
		}
		t := recorded.Task{Writes: o.writes, Next: o.next, Parent: o.parent, Program: o.program}
		v, err := t.Encode(by)
		if err != nil {
			return err
		}
		o.recorded = true
		steps = append(append(steps, o.exec.Records().Held()...), posthouse.Step{
			Task: o.task.key.String(), Name: recorded.Done, Effect: o.task.node.opt.Effect, Value: v,
			Story: o.tale.Story(r.app.ledger.Now()),
		})
	}
	if len(steps) == 0 {
		return nil
	}
	_, err := r.sess.Commit(ctx, &ledger.Draft{Steps: steps})
	return err
}
