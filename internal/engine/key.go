package engine

import (
	"context"
	"strconv"
)

// A TaskKey names an execution. Most are never written down, so the name is
// made when it is asked for.
type TaskKey struct {
	Step  uint64 // that the execution makes, counted whether or not those before it made checkpoints
	Label string // of the node
	Full  string // the whole name, in place of the others
}

// String returns the name, as in "7/approve".
func (k *TaskKey) String() string {
	if k.Full != "" {
		return k.Full
	}
	b := strconv.AppendUint(make([]byte, 0, 24+len(k.Label)), k.Step, 10)
	return string(append(append(b, '/'), k.Label...))
}

// A taskContext is the context of a task's code.
type taskContext struct {
	context.Context
	task *Task
}

// Value knows the task; the rest is the parent's.
func (c *taskContext) Value(key any) any {
	if key == keyTask {
		return c.task
	}
	return c.Context.Value(key)
}
