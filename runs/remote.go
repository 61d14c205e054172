package runs

import (
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// RemoteOptions refine a task that a program hands out to workers.
type RemoteOptions struct {
	Group    string               // of workers that may take it; "" is any
	Limits   posthouse.TaskLimits // of attempts and iterations
	Start    time.Duration        // from now until a worker may take it
	Expires  time.Duration        // from now until it fails with [posthouse.ErrExpired]; 0: never; at most 100 years
	Metadata map[string]string    // given to the handler beside its input; at most 32 values
	Trace    map[string]string    // given to the handler, for example a traceparent; at most 8 values

	// Effect is the class of the task. Unset counts as external where the ledger requires grants.
	// Within gate.Act it is that of the effect.
	Effect posthouse.Effect

	// Extra passes over members of the output that the program's type lacks. Else such an output is refused.
	Extra bool
}

// A RemoteError says that a worker gave a task up, or that no attempt is left. It is on record, so
// a retry around the task does not try again unless it says so.
type RemoteError struct {
	Task     string       // the name of the handler
	Gate     posthouse.ID // of the last attempt
	Worker   string       // that made it, as in "worker:gpu-1"
	Attempts int          // of the last iteration
	Reason   string       // what the handler said
	Unknown  bool         // its effect under a grant may have happened; the error is then a [posthouse.ErrUnknown], too
	NotDone  bool         // the worker said that nothing happened (gate.NotDone in its handler)
}

// Is matches [posthouse.ErrUnknown] for an effect that may have happened.
func (e *RemoteError) Is(target error) bool { return e.Unknown && target == posthouse.ErrUnknown }

// Error names the task, its attempts and the handler's reason.
func (e *RemoteError) Error() string {
	return "task " + e.Task + " failed in attempt " + strconv.Itoa(e.Attempts) + " at " + e.Worker + ": " + e.Reason
}
