package failure

import (
	"strconv"

	"github.com/posthouse/posthouse"
)

// A RemoteError says that a worker gave a task up, or that no attempt is left.
type RemoteError struct {
	Task     string       // the name of the handler
	Gate     posthouse.ID // of the last attempt
	Worker   string       // that made it, as in "worker:gpu-1"
	Attempts int          // of the last iteration
	Reason   string       // what the handler said
	Unknown  bool         // its effect under a grant may have happened; the error is then a [posthouse.ErrUnknown], too
}

// Is matches [posthouse.ErrUnknown] for an effect that may have happened.
func (e *RemoteError) Is(target error) bool { return e.Unknown && target == posthouse.ErrUnknown }

// Error names the task, its attempts and the handler's reason.
func (e *RemoteError) Error() string {
	return "task " + e.Task + " failed in attempt " + strconv.Itoa(e.Attempts) + " at " + e.Worker + ": " + e.Reason
}
