package flow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/step"
)

// Steps that say nothing are tried again as the flow says, in groups too; a step
// within a step is not, since the one around it is.
func TestRetryOfAllSteps(t *testing.T) {
	for name, c := range map[string]struct {
		work func(context.Context, func(context.Context) (int, error)) error
		want int
	}{
		"plain": {func(ctx context.Context, f func(context.Context) (int, error)) error {
			_, err := step.Do(ctx, "a", f)
			return err
		}, 3},
		"its own": {func(ctx context.Context, f func(context.Context) (int, error)) error {
			_, err := step.DoWith(ctx, "a", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}, f)
			return err
		}, 2},
		"none": {func(ctx context.Context, f func(context.Context) (int, error)) error {
			_, err := step.DoWith(ctx, "a", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 1}}, f)
			return err
		}, 1},
		"within": {func(ctx context.Context, f func(context.Context) (int, error)) error {
			_, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) { return step.Do(ctx, "b", f) })
			return err
		}, 3},
		"group": {func(ctx context.Context, f func(context.Context) (int, error)) error {
			_, err := step.Map(ctx, "a", []int{1}, func(ctx context.Context, _ int) (int, error) { return f(ctx) })
			return err
		}, 3},
	} {
		w, tries := newWorld(t), 0
		f := func(ctx context.Context, _ int) (int, error) {
			return 0, c.work(ctx, func(context.Context) (int, error) { tries++; return 0, errBoom })
		}
		_, err := app(w, f, &flow.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}}).Run(t.Context(), "t", 0)
		if !errors.Is(err, errBoom) || tries != c.want {
			t.Errorf("%s: %d tries, want %d: %v", name, tries, c.want, err)
		}
	}
}

func TestTimeoutOfAllSteps(t *testing.T) {
	for own, want := range map[time.Duration]time.Duration{0: time.Second, 2 * time.Second: 2 * time.Second, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			f := func(ctx context.Context, _ int) (int, error) {
				return step.DoWith(ctx, "a", step.Options{Timeout: own}, func(ctx context.Context) (int, error) {
					select {
					case <-time.After(3 * time.Second):
					case <-ctx.Done():
					}
					return 0, ctx.Err()
				})
			}
			_, err := app(newWorld(t), f, &flow.Options{Timeout: time.Second}).Run(t.Context(), "t", 0)
			var late *step.TimeoutError
			if is := errors.As(err, &late); is != (want > 0) || is && late.After != want || !is && err != nil {
				t.Errorf("%s: %v", own, err)
			}
		})
	}
	for _, o := range []flow.Options{{Timeout: -1}, {Retry: posthouse.RetryPolicy{MaxAttempts: -1}}} {
		f := flow.New("f", func(context.Context, int) (int, error) { return 0, nil })
		if _, err := f.Open(newWorld(t).ledger(), &o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
