package step

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
)

// doInHandler is [DoWith] for a handler: its engine records the steps. Retries are the
// task's: another attempt finds the recorded steps.
func doInHandler[T any](ctx context.Context, h handler.Scope, name string, o *Options, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	if fn == nil {
		return zero, posthouse.Invalid("fn", "of step %s is nil", name)
	}
	if o.Retry.MaxAttempts > 1 {
		return zero, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Field: "retry", Message: "of step " + name + " is not for handlers",
			Hint: "let the handler fail: the task's next attempt finds the steps that are done",
		}
	}
	v, err := h.Do(ctx, name, o.Effect, workOf(name, o, fn))
	if err != nil {
		return zero, err
	}
	return decode[T](name, v, o)
}

// signal takes a signal for a program, or for a handler.
func signal(ctx context.Context, name string, o *SignalOptions, fits func(json.RawMessage) error) (json.RawMessage, error) {
	if o.Timeout < 0 || o.Timeout > backoff.Longest {
		return nil, posthouse.Invalid("timeout", "of signal %s must be between 0 and 100 years", name)
	}
	if h, ok := handler.From(ctx); ok {
		v, err := h.Signal(name, o.Latch, o.Timeout)
		if err == nil {
			err = fits(v)
		}
		return v, err
	}
	task, err := engine.TaskOf(ctx, "signal "+name)
	if err != nil {
		return nil, err
	}
	return task.FittingSignal(ctx, name, o.Latch, o.Timeout, fits)
}
