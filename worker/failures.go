package worker

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/failure"
	"github.com/posthouse/posthouse/task"
)

// recordedFailure is the codec of a failure on record.
const recordedFailure = effect.CodecFailed

// failures are steps of a handler that failed. One that the handler acted after is on record, and
// stands: the step is not made again. Without it a handler that compensates and is tried again would do
// a second time what it has taken back. The records' lock guards them.
type failures struct {
	open   []*task.StepResult          // not on record
	due    []*task.StepResult          // of open: the handler waits for something after them
	recent []*task.StepResult          // on record since this execution began, with nothing after them
	have   map[stepKey]posthouse.Value // on record from before, and standing
	stands bool                        // the handler has a failure that stands
}

// received returns the failures that the code knows which calls now. Callers hold r.mu.
func (f *failures) received() []*task.StepResult { return slices.Clone(f.open) }

// returned returns the failure on record of a call, if it stands.
func (f *failures) returned(k stepKey, call string) (error, bool) {
	v, ok := f.have[k]
	if !ok {
		return nil, false
	}
	f.stands = true
	err, broken := failure.Decode(call, v.Data)
	if broken != nil {
		return posthouse.Corrupt("the failure of step %.200q does not decode: %v", call, broken), true
	}
	return err, true
}

// addFailure keeps the failure of a step until the handler acts. A step that was stopped, or waits, is
// tried again, whatever follows.
func (r *records) addFailure(s task.StepResult, err error) {
	if context.Cause(r.e.ctx) != nil || errors.Is(err, posthouse.ErrWaiting) {
		return
	}
	s.Value = posthouse.Value{Codec: recordedFailure, Data: failure.Encode(err)}
	s.Took, s.Notes = 0, nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures.open = append(r.failures.open, &s)
}

// keepFailures puts failures on record, before the code acts that knows of them.
func (r *records) keepFailures(known []*task.StepResult) error {
	for _, s := range known {
		r.mu.Lock()
		open := slices.Contains(r.failures.open, s)
		r.mu.Unlock()
		if !open {
			continue
		}
		if err := r.e.repeat(func(ctx context.Context) error { return r.e.run.worker.engine.Record(ctx, r.e.claim.ID, *s) }); err != nil {
			return err
		}
		r.mu.Lock()
		r.failures.open = slices.DeleteFunc(r.failures.open, func(o *task.StepResult) bool { return o == s })
		r.failures.recent = append(r.failures.recent, s)
		r.mu.Unlock()
	}
	return nil
}

// acted notes that something that acts is on record after failures: they stand.
func (r *records) acted(known []*task.StepResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range known {
		r.failures.stands = r.failures.stands || slices.Contains(r.failures.recent, s)
	}
}

// waitsAfter notes that the handler waits for something after what has failed. Callers hold r.mu.
func (r *records) waitsAfter() { r.failures.due = r.failures.received() }

// keepDue puts the failures on record that the handler waits after.
func (r *records) keepDue() error {
	r.mu.Lock()
	due := slices.Clone(r.failures.due)
	r.mu.Unlock()
	return r.keepFailures(due)
}

// isOver reports whether another attempt would end as this one: a failure stands, and no step has
// failed that could be made again.
func (r *records) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures.stands && len(r.failures.open) == 0 && context.Cause(r.e.ctx) == nil
}
