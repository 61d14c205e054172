package step

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Sleep waits for d, counted from its first call. It returns
// [posthouse.ErrWaiting], which parks the thread, until the program runs again
// after that time, in any process. Nothing is held while it waits. A d of 0 or
// less returns nil at once.
//
// Errors: [posthouse.ErrWaiting]; [posthouse.ErrCancelled] if somebody
// cancelled the wait; [posthouse.ErrInvalid] outside any task, for a bad name
// (1 to 194 bytes), and for a replay in another order.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	task, err := engine.TaskOf(ctx, "sleep "+name)
	if err != nil {
		return err
	}
	return task.Until(ctx, name, task.Session().Ledger().Now().Add(d))
}

// Until is [Sleep] up to a time by the Ledger's clock. The time of the first call counts. If
// it has come, Until returns nil at once and records nothing.
func Until(ctx context.Context, name string, at time.Time) error {
	task, err := engine.TaskOf(ctx, "until "+name)
	if err != nil {
		return err
	}
	return task.Until(ctx, name, at)
}

// SignalOptions refine [Signal]. The zero value takes the oldest signal and
// waits for ever.
type SignalOptions struct {
	Latch   bool          // read the newest signal and leave it there, rather than take the oldest
	Timeout time.Duration // 0: no timeout; at most 100 years
}

// Signal waits for a signal of this name and returns its value. [ledger.Ledger.Signal]
// sends signals. Those that came before are taken at once, oldest first, each by one call
// on a branch. With Latch it returns the newest one's value, as often as it is called. A
// fork receives again the signals taken after its fork point.
//
// Until a signal comes it returns [posthouse.ErrWaiting], which parks the thread. Errors:
// [posthouse.ErrExpired] after the timeout, also when the program runs again;
// [posthouse.ErrInvalid] for a value that T cannot hold; and as for [Sleep]. If the run fails with
// that, and is resumed, the next signal of the name takes its place. The name has
// 1 to 193 bytes.
func Signal[T any](ctx context.Context, name string, o SignalOptions) (T, error) {
	var v T
	_, err := signal(ctx, name, &o, func(data json.RawMessage) error {
		var read T
		if err := posthouse.JSON.Unmarshal(data, &read); err != nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "value", Err: err,
				Message: "of signal " + name + " does not fit a " + reflect.TypeFor[T]().String(),
				Hint:    "send another and resume the thread, or read such signals with Signal[any]",
			}
		}
		v = read
		return nil
	})
	return v, err
}
