package step

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Options refine [DoWith]. The zero value is what [Do] uses.
type Options struct {
	Effect posthouse.Effect // what doing the step again would do to the world; kept with the result
	Codec  posthouse.Codec  // encodes the result; default [posthouse.JSON]. Keep it: a recorded result is decoded by it
}

// Do returns the recorded result of this call, or runs fn and records what it
// returns before returning it. An error of fn is returned as it is and nothing
// is recorded. The size limit of a result is the Ledger's MaxState.
//
// Errors of its own: [posthouse.ErrInvalid] outside any task, for a bad name,
// for a replay in another order, and for a value that its codec does not take;
// [posthouse.ErrTooLarge]; the context's error if it ended before fn ran; and
// those of [posthouse.Ledger.Commit], after which the run cannot go on.
func Do[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, name, Options{}, fn)
}

// DoWith is [Do] with options.
func DoWith[T any](ctx context.Context, name string, o Options, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	if fn == nil {
		return zero, invalid("fn", "of step "+name+" is nil", "")
	}
	task, ok := engine.From(ctx)
	if !ok {
		return zero, invalid("context", "of step "+name+" carries no task",
			"call step.Do below a node, flow or handler, with the context it was given")
	}
	codec := o.Codec
	if codec == nil {
		codec = posthouse.JSON
	}
	v, err := task.Do(ctx, name, o.Effect, func(ctx context.Context) (posthouse.Value, error) {
		t, err := fn(ctx)
		if err != nil {
			return posthouse.Value{}, err
		}
		return posthouse.Encode(codec, t)
	})
	if err != nil {
		return zero, err
	}
	return posthouse.Decode[T](v, codec)
}

// Key returns an idempotency key for the step whose function ctx was given to:
// "thread/task/name/occurrence", the same at each attempt and different from
// any other step's, where a branch other than main adds "~branch" to the
// thread. Outside a step it is "".
func Key(ctx context.Context) string {
	key, _ := engine.StepKey(ctx)
	return key
}

// Unordered returns a context for steps that run at once. Each needs a name of
// its own, since the order of their calls means nothing; nor is order checked
// after them in the same execution.
func Unordered(ctx context.Context) context.Context { return engine.Unordered(ctx) }

func invalid(field, message, hint string) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: message, Hint: hint}
}
