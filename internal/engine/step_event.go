package engine

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/runs"
)

// A StepEvent reports what becomes of a step that runs its function.
type StepEvent struct {
	Kind    runs.EventKind // one of those of tasks
	Step    string         // the call with the steps around it, as in "price[2]"
	Outer   string         // the name of the outermost of them
	Attempt int            // from 1
	Err     error          // of an attempt that failed or was stopped
	Due     time.Time      // with EventTaskRetry: when the next begins
	At      time.Time
	Took    time.Duration // the attempt, once it has ended
}

// OnStep has fn called with what becomes of each step that is not on record. It is called
// from the goroutine that runs the step.
func (t *Task) OnStep(fn func(StepEvent)) { t.onStep = fn }

func (c *Call) reportStep(ctx context.Context, e StepEvent) {
	t := c.task
	if t.onStep == nil {
		return
	}
	e.At, e.Step, e.Outer = t.session.Ledger().Now(), c.label(), c.name
	if sc := t.scopeOf(ctx); sc != nil {
		e.Outer = sc.outer
	}
	if e.Kind == runs.EventTaskStart {
		c.told.began = e.At
	} else {
		e.Took = e.At.Sub(c.told.began)
	}
	t.onStep(e)
}

// reportEnd reports what the last attempt came to, before its result is on record.
func (c *Call) reportEnd(ctx context.Context, attempt int, err error) {
	kind := runs.EventTaskFinish
	switch {
	case err == nil:
	case errors.Is(err, posthouse.ErrWaiting):
		kind, err = runs.EventTaskWait, nil
	case ctx.Err() != nil:
		kind = runs.EventTaskStop
	default:
		kind = runs.EventTaskError
	}
	c.reportStep(ctx, StepEvent{Kind: kind, Attempt: attempt, Err: err})
}

// Results returns the results of outermost steps among the steps of a draft. It leaves
// out what models record for themselves.
func Results(task string, steps []posthouse.Step) (results []posthouse.Step) {
	for i := range steps {
		if isResult(task, &steps[i]) {
			results = append(results, steps[i])
		}
	}
	return results
}

func isResult(task string, s *posthouse.Step) bool {
	return s.Task == task && s.Value.Codec != threadlog.CodecFailed && replay.IsOutermost(s.Name)
}
