package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// An Error is the failure of a flow's function. The thread has a checkpoint of
// status failed; resuming executes the function again, with its recorded steps.
// Unwrap returns what the function returned, or a panic as an error.
type Error struct {
	Flow, Thread, Branch string
	Checkpoint           posthouse.ID // the failed one; "" if it could not be committed
	Err                  error
}

// Error names the flow, the thread and the cause.
func (e *Error) Error() string {
	return fmt.Sprintf("posthouse: flow %q failed in thread %q: %v", e.Flow, e.Thread, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errStopped is what steps return once the run was asked to drain. It does not
// leave the package.
var errStopped = errors.New("flow: asked to stop before the next step; the thread goes on when it is resumed")

func unknownThread(thread, branch string) error {
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: fmt.Sprintf("thread %q has no branch %q", thread, branch),
		Hint: "run the thread first",
	}
}

// owns refuses a thread that another program runs.
func (a *App[In, Out]) owns(h *posthouse.Header) error {
	return engine.Owns("flow", a.name, h)
}

// oneLine makes an error fit for a checkpoint's header: valid text on one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}

// interrupted is the error of a call whose context ended.
func interrupted(ctx context.Context, failed error) error {
	if cause := context.Cause(ctx); !errors.Is(failed, cause) {
		return errors.Join(cause, failed)
	}
	return failed
}

// sessionError returns why the session ended under the function.
func sessionError(cause, failed error) error {
	if failed == nil || errors.Is(failed, cause) {
		return cause
	}
	return errors.Join(cause, failed)
}

func isOrder(err error) bool {
	var order *engine.OrderError
	return errors.As(err, &order)
}
