package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// A Task is an attempt, pause or iteration of what a worker does, as operators see it.
type Task struct {
	ID     posthouse.ID       `json:"id"` // of its gate
	Thread string             `json:"thread"`
	Branch string             `json:"branch"`
	Step   string             `json:"step"`
	State  string             `json:"state"` // ready, delayed, paused, claimed, decided or failed
	Call   posthouse.TaskCall `json:"call"`
	Input  json.RawMessage    `json:"input"`

	Handlers int    `json:"handlers"`          // how many workers take such tasks
	Worker   string `json:"worker,omitempty"`  // that has it, or had it last
	Session  string `json:"session,omitempty"` // of the worker that has it
	Saved    int    `json:"saved"`             // bytes in its slot

	CreatedAt time.Time           `json:"createdAt"`
	ExpiresAt time.Time           `json:"expiresAt,omitzero"`
	Decision  *posthouse.Decision `json:"decision,omitempty"`
	Error     Document            `json:"error,omitempty"` // in lists: why it cannot be read whole, as JSON
}

// A TaskQuery selects tasks. Nil is all open ones, the newest first.
type TaskQuery struct {
	Thread string // of this thread
	Task   string // of this handler
	Failed bool   // those that failed for good, in the place of open ones
	Limit  int    // 0: all
}

// Tasks yields tasks.
func (o Operations) Tasks(ctx context.Context, q *TaskQuery) iter.Seq2[*Task, error] {
	if q == nil {
		q = new(TaskQuery)
	}
	return exactList[*Task](ctx, o.client, "/api/tasks", given("thread", q.Thread, "task", q.Task, "failed", ifSet(q.Failed)), q.Limit)
}

// Task returns a task, open or not. [posthouse.ErrNotFound].
func (o Operations) Task(ctx context.Context, id posthouse.ID) (*Task, error) {
	return o.task(ctx, http.MethodGet, id, nil)
}

// ResumeTask has a task go on now that is paused, or waits for its next attempt, and returns the task
// that takes its place. [posthouse.ErrConflict] while a worker has it.
func (o Operations) ResumeTask(ctx context.Context, id posthouse.ID) (*Task, error) {
	return o.task(ctx, http.MethodPost, id, nil, "resume")
}

// PauseTask keeps a task from workers, from 1 ms to 100 years or until it is resumed, and returns the
// task that takes its place.
func (o Operations) PauseTask(ctx context.Context, id posthouse.ID, wait time.Duration) (*Task, error) {
	return o.task(ctx, http.MethodPost, id, map[string]time.Duration{"for": wait}, "pause")
}

// RetryTask hands out again a task that failed for good, with what its handlers saved, and returns the
// new one.
func (o Operations) RetryTask(ctx context.Context, id posthouse.ID) (*Task, error) {
	return o.task(ctx, http.MethodPost, id, nil, "retry")
}

// GiveUpTask clears the slot of a task that failed for good, and cancels the branch that failed with it.
func (o Operations) GiveUpTask(ctx context.Context, id posthouse.ID) error {
	return o.client.ask(ctx, http.MethodDelete, taskPath(id), nil, nil, nil)
}

// A TaskSlot is what handlers keep between the attempts of a task.
type TaskSlot struct {
	Saved bool   `json:"saved"`           // there is a value, which may be empty
	Value []byte `json:"value,omitempty"` // in base64 in JSON
}

// TaskSlot returns what handlers keep between the attempts of a task. [posthouse.ErrNotFound].
func (o Operations) TaskSlot(ctx context.Context, id posthouse.ID) (*TaskSlot, error) {
	s := new(TaskSlot)
	return s, o.client.ask(ctx, http.MethodGet, taskPath(id, "slot"), nil, nil, s)
}

// ClearTaskSlot clears the slot of a task: its next attempt begins from nothing.
// [posthouse.ErrConflict] while a worker has it.
func (o Operations) ClearTaskSlot(ctx context.Context, id posthouse.ID) error {
	return o.client.ask(ctx, http.MethodDelete, taskPath(id, "slot"), nil, nil, nil)
}

func (o Operations) task(ctx context.Context, method string, id posthouse.ID, body any, below ...string) (*Task, error) {
	t := new(Task)
	return t, o.client.ask(ctx, method, taskPath(id, below...), nil, body, t)
}

func taskPath(id posthouse.ID, below ...string) string {
	return "/api/tasks" + Path(append([]string{string(id)}, below...)...)
}
