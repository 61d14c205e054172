package posthousetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// A handler does tasks of one name.
type handler func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)

// Handle does the tasks of a name that programs hand out with [step.Remote], in place of a worker:
// fn is given the input of each, and its result is the output. An error is a failed attempt, after
// which the next one is made when it is due; see [Env.Advance]. Tasks that were handed out before
// are done now. [Tool.Call] fits. Test a handler of your own with package worker/workertest.
func Handle[In, Out any](e *Env, task string, fn func(ctx context.Context, in In) (Out, error)) {
	e.t.Helper()
	e.handlers[task] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, fmt.Errorf("the input of task %q does not fit %T: %w", task, in, err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
	e.Settle()
}

// handleTask does the first open task that has a handler and may begin.
func (e *Env) handleTask() bool {
	e.t.Helper()
	if len(e.handlers) == 0 {
		return false
	}
	for g, err := range e.now.ledger.Gates(e.ctx, ledger.GateQuery{Kind: posthouse.GateTask}) {
		if err != nil {
			e.t.Fatalf("posthousetest: the tasks cannot be read: %v", err)
		}
		h := e.handlers[g.Call.Task]
		if h == nil || g.Call.NotBefore.After(e.Now()) {
			continue
		}
		o := &commit.TaskOutcome{By: posthouse.WorkerPrefix + "posthousetest", Began: e.Now()}
		err := engine.Guard(func() (err error) { o.Output, err = h(e.ctx, g.Payload); return err })
		if err != nil {
			o.Why, o.Undone, o.Next = err.Error(), g.Call.Grant != "", commit.NextAttempt(g.Call, e.Now(), err.Error(), 0)
			if o.Next == nil {
				o.Failed = err.Error()
			}
		}
		if _, _, err := commit.ResolveTask(e.ctx, e.now.ledger.Core(), commit.RefOf(g), o); err != nil && !errors.Is(err, posthouse.ErrExpired) {
			e.t.Fatalf("posthousetest: the outcome of task %q: %v", g.Call.Task, err)
		}
		return true
	}
	return false
}
