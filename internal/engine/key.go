package engine

import (
	"strconv"
	"time"
)

// A TaskKey names an execution. Most are never written down, so the name is
// made when it is asked for.
type TaskKey struct {
	Step  uint64 // that the execution makes, counted from 1 whether or not those before it made checkpoints
	Label string // of the node; without a Step the whole name
}

// String returns the name, as in "7/approve".
func (k *TaskKey) String() string {
	if k.Step == 0 {
		return k.Label
	}
	b := strconv.AppendUint(make([]byte, 0, 24+len(k.Label)), k.Step, 10)
	return string(append(append(b, '/'), k.Label...))
}

// A taskContext is a task as the context of its code: around it, but for the
// task itself.
type taskContext Task

func (c *taskContext) Deadline() (time.Time, bool) { return c.around.Deadline() }
func (c *taskContext) Done() <-chan struct{}       { return c.around.Done() }
func (c *taskContext) Err() error                  { return c.around.Err() }

func (c *taskContext) Value(key any) any {
	if key == keyTask {
		return (*Task)(c)
	}
	return c.around.Value(key)
}
