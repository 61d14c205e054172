package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// A Start is a task that no program hands out.
type Start struct {
	Task  string          `json:"task" doc:"the handler's name, 1 to 200 bytes"`
	Input json.RawMessage `json:"input,omitempty" doc:"at most 1 MiB; null without one"`
	Group string          `json:"group,omitempty" doc:"of workers that may take it; any without one"`

	// Key makes a start idempotent: another with the same key and content starts nothing.
	Key string `json:"key,omitempty" doc:"at most 190 bytes; a second start with it and the same content starts nothing"`

	// Effect is the class of what the handler does. A Ledger that requires grants starts no task
	// that is external, or has no class.
	Effect posthouse.Effect `json:"effect,omitempty" doc:"class of what the handler does: pure, read, write or external. Where grants are required, one without a class is refused as external is"`

	After    time.Duration        `json:"after,omitempty" doc:"nanoseconds until a worker may take it"`
	Expires  time.Duration        `json:"expires,omitempty" doc:"nanoseconds until it fails if no worker has completed it; 0: never"`
	Limits   posthouse.TaskLimits `json:"limits,omitzero" doc:"of attempts and iterations"`
	Metadata map[string]string    `json:"metadata,omitempty" doc:"given to the handler beside its input; at most 32 values"`
	Trace    map[string]string    `json:"trace,omitempty" doc:"given to the handler; at most 8 values"`
}

// A Started says where a task stands that was started by itself.
type Started struct {
	Thread string           `json:"thread" doc:"that the task has for itself"`
	Status posthouse.Status `json:"status" doc:"waiting until it is over; then done, failed or cancelled"`

	// Gate is that of the task that is open. It changes with each attempt, pause and iteration.
	Gate posthouse.ID `json:"gate,omitempty" doc:"of the open task; it changes with each attempt, pause and iteration"`

	Output json.RawMessage `json:"output,omitempty" doc:"of a task that is done"`
	Error  string          `json:"error,omitempty" doc:"why it failed"`
}

// A Starter starts tasks by themselves. Package task/standalone has one.
type Starter interface {
	// Start starts a task for somebody. [posthouse.ErrInvalid] and [posthouse.ErrTooLarge] name
	// the field that does not fit; [posthouse.ErrForbidden] says that the task needs a grant,
	// which it has within a program only; [posthouse.ErrExists] says that the key was used for a
	// task of other content.
	Start(ctx context.Context, s Start, by string) (*Started, error)

	// Outcome returns where a task stands. [posthouse.ErrNotFound] for a thread that no
	// Start has made.
	Outcome(ctx context.Context, thread string) (*Started, error)
}
