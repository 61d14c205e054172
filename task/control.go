package task

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
)

// A Control shows and changes tasks for those who operate an engine. Workers do not have it.
// Tasks are named by their gate; each attempt, pause and iteration has another.
type Control interface {
	// Tasks yields the open tasks, the oldest first unless the query says otherwise. One
	// that cannot be read comes with the error, and the others follow.
	Tasks(ctx context.Context, q Query) iter.Seq2[*Info, error]

	// Task returns a task, open or not. [posthouse.ErrNotFound] if the gate is not a task's.
	Task(ctx context.Context, gate posthouse.ID) (*Info, error)

	// Slot returns what handlers keep between a task's attempts, nil for nothing.
	Slot(ctx context.Context, gate posthouse.ID) ([]byte, error)

	// ClearSlot has the next attempt of an open task find nothing. [posthouse.ErrConflict]
	// while a worker has it: the handler may save again. A damaged slot is cleared anyway.
	ClearSlot(ctx context.Context, gate posthouse.ID) error

	// Resume has an open task that is paused, or waits for its next attempt, go on now. It
	// returns the task that takes its place. [posthouse.ErrConflict] while a worker has it.
	Resume(ctx context.Context, gate posthouse.ID, by string) (*Info, error)

	// Pause has an open task wait until d has passed, or until it is resumed; it counts as no
	// attempt. It returns the task that takes its place. [posthouse.ErrConflict] while a
	// worker has it.
	Pause(ctx context.Context, gate posthouse.ID, d time.Duration, by string) (*Info, error)

	// Retry opens a task again that failed for good, with the values that handlers saved
	// and all its attempts. If the thread has gone on since, that is on a new branch. It
	// returns the new task. It fails with [posthouse.ErrConflict] for a task that is open
	// or was replaced, with [posthouse.ErrDecided] for one that did not fail.
	Retry(ctx context.Context, gate posthouse.ID, by string) (*Info, error)

	// Purge gives a task up that failed for good: it clears the slot, and cancels the branch
	// that failed with it. Errors are those of Retry.
	Purge(ctx context.Context, gate posthouse.ID, by string) error

	// Workers returns the workers of this engine, and of others over the same store, by name.
	Workers(ctx context.Context) ([]WorkerInfo, error)
}

// A Query selects open tasks. The zero value is all of them.
type Query struct {
	Thread string
	Task   string       // the handler's name
	Newest bool         // newest first
	After  posthouse.ID // go on after this gate, which may be over or gone by now

	// AfterThread is the thread of After, in a list of tasks that failed. Without After, the
	// list goes on after the thread: one that could not be read has no gate to name.
	AfterThread string

	// Failed selects tasks that failed for good instead of open ones, as long as the branch
	// that failed with them stays so. They come by thread. It reads each failed thread.
	Failed bool
}

// A State says what an open task waits for.
type State string

// The states of tasks.
const (
	Ready   State = "ready"   // for a worker
	Delayed State = "delayed" // for the time of its next attempt or iteration, or one that an operator named
	Paused  State = "paused"  // for the end of the pause that its handler made
	Claimed State = "claimed" // a worker has it
	Decided State = "decided" // it is over, or goes on as another gate
	Failed  State = "failed"  // for good
)

// An Info says where a task is.
type Info struct {
	ID     posthouse.ID       `json:"id" doc:"of its gate"`
	Thread string             `json:"thread"`
	Branch string             `json:"branch"`
	Step   string             `json:"step" doc:"names the slot in the thread"`
	State  State              `json:"state" doc:"ready, delayed, paused, claimed, decided or failed"`
	Call   posthouse.TaskCall `json:"call"`
	Input  json.RawMessage    `json:"input"`

	Handlers int `json:"handlers" doc:"how many workers take such tasks; an open task that none takes waits for one that does"`

	Worker  string `json:"worker,omitempty" doc:"that has it, or had it last"`
	Session string `json:"session,omitempty" doc:"of the worker that has it"`
	Saved   int    `json:"saved" doc:"bytes in the slot"`

	CreatedAt time.Time           `json:"createdAt"`
	ExpiresAt time.Time           `json:"expiresAt,omitzero"`
	Decision  *posthouse.Decision `json:"decision,omitempty"`
}

// A WorkerInfo says what a worker handles, how much, and where.
type WorkerInfo struct {
	Session     string         `json:"session"`
	Worker      string         `json:"worker" doc:"what it calls itself"`
	Token       string         `json:"token,omitempty" doc:"whose token it shows: its name on record. Without one it is of a server's own process"`
	Group       string         `json:"group,omitempty"`
	Tasks       []string       `json:"tasks" doc:"the names it handles"`
	Concurrency int            `json:"atOnce"`
	Protocol    int            `json:"protocol" doc:"the version of the protocol that it speaks"`
	Engine      string         `json:"engine" doc:"the server that it talks to"`
	Here        bool           `json:"here" doc:"that is the server which answers"`
	Heard       time.Time      `json:"heard" doc:"when its last heartbeat came, by the clock of its server"`
	Until       time.Time      `json:"until" doc:"when its lease ends, unless another heartbeat comes before"`
	Silent      bool           `json:"silent,omitempty" doc:"it has sent none for its lease, as far as the server which answers has seen; others take its tasks"`
	Claims      []posthouse.ID `json:"claims" doc:"the gates of tasks that it has; null for a worker of another server"`
}
