package flow

import (
	"errors"
	"fmt"

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

// errStopped is what steps return once the run was asked to drain. Run never returns it.
var errStopped = errors.New("flow: asked to stop before the next step; the thread goes on when it is resumed")

// isOrder reports whether the function's steps came in another order than the recorded.
func isOrder(err error) bool {
	var order *engine.OrderError
	return errors.As(err, &order)
}
