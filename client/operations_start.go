package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// A TaskStart says which task to start by itself, without a program. Task is required.
type TaskStart struct {
	Task  string          `json:"task"`            // the handler's name, 1 to 200 bytes
	Input json.RawMessage `json:"input,omitempty"` // at most 1 MiB; default null
	Group string          `json:"group,omitempty"` // of workers that may take it; "" is any
	Key   string          `json:"key,omitempty"`   // at most 190 bytes; a second start with it and the same content starts nothing

	// Effect is the class of what the handler does. A server that requires grants refuses a task that is
	// external, or has no class.
	Effect posthouse.Effect `json:"effect,omitempty"`

	After    time.Duration        `json:"after,omitempty"`    // until a worker may take it
	Expires  time.Duration        `json:"expires,omitempty"`  // until it fails if no worker has completed it; 0: never
	Limits   posthouse.TaskLimits `json:"limits,omitzero"`    // of attempts and iterations
	Metadata map[string]string    `json:"metadata,omitempty"` // given to the handler beside its input; at most 32 values
	Trace    map[string]string    `json:"trace,omitempty"`    // given to the handler; at most 8 values
}

// A TaskStarted says where a task stands that was started by itself.
type TaskStarted struct {
	Thread string           `json:"thread"`           // that the task has for itself
	Status posthouse.Status `json:"status"`           // waiting until it is over; then done, failed or cancelled
	Gate   posthouse.ID     `json:"gate,omitempty"`   // of the open task; it changes with each attempt, pause and iteration
	Output json.RawMessage  `json:"output,omitempty"` // of a task that is done
	Error  string           `json:"error,omitempty"`  // why it failed
}

// StartTask starts a task by itself. [posthouse.ErrExists] says that the key was used for a task of other
// content, [posthouse.ErrForbidden] that the task needs a grant, which it has within a program only.
func (o Operations) StartTask(ctx context.Context, t *TaskStart) (*TaskStarted, error) {
	body := struct {
		*TaskStart
		Input string `json:"input,omitempty"` // its bytes
	}{t, string(t.Input)}
	s := new(TaskStarted)
	return s, o.client.ask(ctx, http.MethodPost, "/api/tasks", nil, body, s)
}

// TaskStarted says where a task stands that was started by itself, by its thread. [posthouse.ErrNotFound].
func (o Operations) TaskStarted(ctx context.Context, thread string) (*TaskStarted, error) {
	s := new(TaskStarted)
	return s, o.client.ask(ctx, http.MethodGet, Path("api", "standalone", thread), nil, nil, s)
}

// A Worker is a process that handles tasks.
type Worker struct {
	Session     string         `json:"session"`
	Worker      string         `json:"worker"`          // the name that it gives itself
	Token       string         `json:"token,omitempty"` // the owner of its token; "" for one within a server's own process
	Group       string         `json:"group,omitempty"`
	Tasks       []string       `json:"tasks"` // the names it handles
	Concurrency int            `json:"atOnce"`
	Protocol    int            `json:"protocol"`         // the version of the protocol that it speaks
	Engine      string         `json:"engine"`           // the server that it talks to
	Here        bool           `json:"here"`             // that is the server which answers
	Heard       time.Time      `json:"heard"`            // when its last heartbeat came, by the clock of its server
	Until       time.Time      `json:"until"`            // when its lease ends, unless another heartbeat comes before
	Silent      bool           `json:"silent,omitempty"` // no heartbeat came for its lease; others take its tasks
	Claims      []posthouse.ID `json:"claims"`           // the gates of tasks that it has; nil for a worker of another server
}

// Workers returns the workers of all servers over one store.
func (o Operations) Workers(ctx context.Context) (all []*Worker, err error) {
	err = o.client.ask(ctx, http.MethodGet, "/api/workers", nil, nil, &all)
	return all, err
}
