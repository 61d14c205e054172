package step

import (
	"context"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// Options refine [DoWith]. The zero value is what [Do] uses.
type Options struct {
	Effect posthouse.Effect // what doing the step again would do to the world; kept with the result
	Codec  posthouse.Codec  // encodes the result, and decodes a recorded one; default [posthouse.JSON]
	// Retry says how often a step that fails is tried again. Default: that of the flow, or else
	// never. MaxAttempts counts the first: 1 is no retry. The first delay is 500 ms and the longest
	// 128 s, unless the policy says otherwise; a negative delay is no delay, a negative MaxDelay no
	// limit. At most 100,000 attempts.
	//
	// Each failed attempt is on record with the time of the next one, so a restart keeps the
	// schedule. The step itself waits for a short time. A longer wait parks the thread: the step
	// then returns [posthouse.ErrWaiting]. When all attempts failed, the last one's error is
	// returned. If it ends the run, or the program does nothing after it, the step is tried once
	// more when the program is executed again. If the program acts after it, see [runs.Failure].
	// Results that the step recorded within itself before it failed are found by its next attempt.
	Retry posthouse.RetryPolicy

	// RetryOn says whether an error is tried again. Default: unless it is a panic, an ErrInvalid
	// or a [runs.RemoteError].
	RetryOn func(error) bool

	// Timeout limits one attempt. The attempt's context then ends with a
	// [TimeoutError]. Default: that of the flow, or else no limit; negative: no
	// limit.
	Timeout time.Duration

	// Convert changes a recorded result that the step's type does not fit, as when a field was
	// renamed, into one that it fits. Without it such a result is [posthouse.ErrInvalid], before
	// anything after the step acts. The record stays as it is.
	Convert func(recorded posthouse.Value) (posthouse.Value, error)
}

// Do returns the recorded result of this call. If there is no recorded result it runs fn, and records the
// result before it returns it. An error of fn is returned as it is. It is recorded only with what the
// program does after it: see [runs.Failure]. The size limit of a result is the Ledger's MaxState.
//
// Errors of its own: [posthouse.ErrInvalid] outside any task, for a bad name,
// for a replay in another order, and for a value that its codec does not take;
// [posthouse.ErrTooLarge]; the context's error if it ended before fn ran; and
// those of [ledger.Ledger.Commit], after which the run cannot go on.
func Do[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, name, Options{}, fn)
}

// DoWith is [Do] with options.
func DoWith[T any](ctx context.Context, name string, o Options, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	if h, ok := handler.From(ctx); ok {
		return doInHandler(ctx, h, name, &o, fn)
	}
	c, err := beginCall(ctx, name, &o, fn == nil, false)
	if err != nil {
		return zero, err
	}
	v, err := run(ctx, c, name, &o, fn)
	if err != nil {
		return zero, err
	}
	return decode[T](name, v, &o)
}

// beginCall counts the call and finds its result. It fills in the defaults of o.
func beginCall(ctx context.Context, name string, o *Options, empty, grouped bool) (*engine.Call, error) {
	if empty {
		return nil, posthouse.Invalid("fn", "of step %s is nil", name)
	}
	retry := engine.Retry{RetryPolicy: o.Retry, On: o.RetryOn}
	if p := retry.Validate(); p != "" {
		return nil, posthouse.Invalid("retry", "of step %s: %s", name, p)
	}
	task, err := engine.TaskOf(ctx, "step "+name)
	if err != nil {
		return nil, err
	}
	d := task.StepDefaults(ctx)
	o.Timeout = engine.LimitOr(o.Timeout, d.Timeout)
	return task.Call(ctx, name, engine.StepOptions{Effect: o.Effect, Retry: retry.Or(d.Retry), Grouped: grouped})
}

// run returns the result of a call, from the record or from fn.
func run[T any](ctx context.Context, c *engine.Call, name string, o *Options, fn func(context.Context) (T, error)) (posthouse.Value, error) {
	if v, ok := c.Recorded(); ok {
		return v, nil
	}
	return c.Run(ctx, workOf(name, o, fn))
}

// workOf returns a step's function with its result encoded.
func workOf[T any](name string, o *Options, fn func(context.Context) (T, error)) engine.Work {
	work := func(ctx context.Context) (posthouse.Value, error) {
		t, err := fn(ctx)
		if err != nil {
			return posthouse.Value{}, err
		}
		v, err := posthouse.Encode(o.codec(), t)
		if of := reflect.TypeFor[T](); err == nil && v.Codec == posthouse.JSON.Name() && jsontype.HoldsInterface(of) {
			err = jsontype.Exact("step "+name, of, v.Data)
		}
		return v, err
	}
	if o.Timeout > 0 {
		work = limited(name, o.Timeout, work)
	}
	return work
}

func (o *Options) codec() posthouse.Codec {
	if o.Codec == nil {
		return posthouse.JSON
	}
	return o.Codec
}

// Key returns an idempotency key for the step that gave ctx to its function. It is
// "thread/task/name/occurrence", the same at each attempt and different from any other
// step's. A branch other than main adds "~branch" to the thread, a branch that began after
// another of the thread was deleted "~branch@entry". From the second generation of a thread
// on "@generation" follows its name. In the function of a handler's gate.Act it is the key
// of that use, and outside a step "".
func Key(ctx context.Context) string {
	if key := handler.Key(ctx); key != "" {
		return key
	}
	key, _ := engine.StepKey(ctx)
	return key
}

// Unordered returns a context for steps that run at once. Each needs a name of its own,
// since the order of their calls means nothing. After them order is not checked in the
// same execution.
func Unordered(ctx context.Context) context.Context { return engine.Unordered(ctx) }
