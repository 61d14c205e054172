package engine

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
)

// A StepEvent is one thing that becomes of a step whose function runs.
type StepEvent struct {
	Kind    EventKind // of a task: the step is one here
	Step    string    // the call, as in "price[2]"; with the steps around it
	Outer   string    // the name of the outermost of them
	Attempt int       // from 1
	Err     error     // of an attempt that failed or was stopped
	Due     time.Time // with EventTaskRetry: when the next begins
	At      time.Time
	Took    time.Duration // the attempt, once it has ended
}

// OnStep has fn called with what becomes of each step that is not on record, from
// the goroutine that runs it.
func (t *Task) OnStep(fn func(StepEvent)) { t.onStep = fn }

func (c *Call) reportStep(ctx context.Context, e StepEvent) {
	t := c.task
	if t.onStep == nil {
		return
	}
	e.At, e.Step, e.Outer = t.session.ledger.Now(), callName(c.name, c.occurrence), c.name
	if sc, ok := ctx.Value(keyScope).(*scope); ok && sc.task == t {
		e.Outer = sc.outer
	}
	if e.Kind == EventTaskStart {
		c.began = e.At
	} else {
		e.Took = e.At.Sub(c.began)
	}
	t.onStep(e)
}

// reportEnd tells what the last attempt came to. Its result is not on record yet.
func (c *Call) reportEnd(ctx context.Context, attempt int, err error) {
	kind := EventTaskFinish
	switch {
	case err == nil:
	case errors.Is(err, posthouse.ErrWaiting):
		kind, err = EventTaskWait, nil
	case ctx.Err() != nil:
		kind = EventTaskStop
	default:
		kind = EventTaskError
	}
	c.reportStep(ctx, StepEvent{Kind: kind, Attempt: attempt, Err: err})
}

// Results returns those of the steps of a draft that are results of outermost
// steps of an execution, and not what models record for themselves.
func Results(task string, steps []posthouse.Step) (results []posthouse.Step) {
	for i := range steps {
		if isResult(task, &steps[i]) {
			results = append(results, steps[i])
		}
	}
	return results
}

func isResult(task string, s *posthouse.Step) bool {
	return s.Task == task && s.Value.Codec != codecFailed && outermost(s.Name) > 0
}

// CallName names one call of a step, as in "price[2]" for the third.
func CallName(s *posthouse.Step) string { return callName(s.Name, s.Occurrence) }
