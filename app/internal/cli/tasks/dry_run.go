package tasks

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// A losing is what a task would lose.
type losing struct {
	DryRun bool         `json:"dryRun"`
	Task   posthouse.ID `json:"task"`
	Saved  int          `json:"saved"`            // bytes in its slot, which would be cleared
	Thread string       `json:"thread,omitempty"` // the thread with the branch that would be cancelled
	Branch string       `json:"branch,omitempty"`
}

// wouldClear says how much the slot of a task holds.
func wouldClear(ctx context.Context, e *env.Env, c *client.Client, id string) error {
	i, err := c.Operations().Task(ctx, posthouse.ID(id))
	if err != nil {
		return err
	}
	return e.Answer(losing{DryRun: true, Task: i.ID, Saved: i.Saved}, func() {
		e.Line("task %s has saved %s bytes, which would be gone", i.ID, term.Number(i.Saved))
		e.Line("nothing was cleared: leave --dry-run out")
	})
}

// wouldGiveUp says what would end with a task.
func wouldGiveUp(ctx context.Context, e *env.Env, c *client.Client, id string) error {
	i, err := c.Operations().Task(ctx, posthouse.ID(id))
	if err != nil {
		return err
	}
	found := false // among those that failed and still stand
	for failed, err := range c.Operations().Tasks(ctx, &client.TaskQuery{Thread: i.Thread, Failed: true}) {
		if err != nil {
			return err
		}
		found = found || failed.ID == i.ID
	}
	if !found {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "task " + string(i.ID) + " has not failed, or its thread has gone on since", Hint: "posthouse task list --failed shows those that have"}
	}
	return e.Answer(losing{true, i.ID, i.Saved, i.Thread, i.Branch}, func() {
		e.Line("task %s would be given up: %s saved bytes would be gone, and branch %s of thread %s cancelled if it failed with the task",
			i.ID, term.Number(i.Saved), i.Branch, i.Thread)
		e.Line("nothing was given up: leave --dry-run out")
	})
}
