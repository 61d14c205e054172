package engine

import (
	"fmt"

	"github.com/posthouse/posthouse"
)

// An OrderError says that a replay asked for another step than the one on record. The
// program changed, or its order depends on a map, a clock or goroutines. It matches
// [posthouse.ErrInvalid].
type OrderError struct {
	Thread, Task string
	Asked        string // what the program asks for now
	Recorded     string // what the record has next
}

// Error names both steps and what to do.
func (e *OrderError) Error() string {
	return fmt.Sprintf("posthouse: task %q of thread %q asks for step %q where step %q is on record "+
		"(restore the order of the steps, fork from before the task, or mark steps that run at once with step.Unordered)",
		e.Task, e.Thread, e.Asked, e.Recorded)
}

// Is matches [posthouse.ErrInvalid].
func (e *OrderError) Is(target error) bool { return target == posthouse.ErrInvalid }
