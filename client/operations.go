package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Operations are what operators do to a server: to many threads at once, to tasks, webhooks and
// access tokens. [Client.Operations] returns them.
type Operations struct{ client *Client }

// Operations returns what operators do to the server.
func (c *Client) Operations() Operations { return Operations{c} }

// A Verb is what is done to many threads.
type Verb string

// The verbs of [Operations.Bulk].
const (
	BulkResume  Verb = "resume"
	BulkCancel  Verb = "cancel"
	BulkRelease Verb = "release"
)

// A BulkQuery says to which threads something is done: at least one filter, or Threads.
type BulkQuery struct {
	Threads []string         `json:"threads,omitempty"` // these, at most 1,000; in the place of the filters
	Status  posthouse.Status `json:"status,omitempty"`  // with this status
	Program string           `json:"program,omitempty"` // of this program
	Prefix  string           `json:"prefix,omitempty"`  // with a name that starts so
	Reason  string           `json:"reason,omitempty"`  // goes on record, where something is cancelled or released
	DryRun  bool             `json:"dryRun,omitempty"`  // do nothing, and report what would be done
}

// A BulkReport says what became of many threads.
type BulkReport struct {
	DryRun bool       `json:"dryRun,omitempty"`
	Done   int        `json:"done"`
	Failed int        `json:"failed"`
	Items  []BulkItem `json:"items"`
	Next   string     `json:"next,omitempty"` // of one page; "" in what [Operations.Bulk] returns
}

// A BulkItem is what became of one thread.
type BulkItem struct {
	Thread   string           `json:"thread"`
	Status   posthouse.Status `json:"status"`            // before anything was done
	Branches []string         `json:"branches"`          // to which something was done, or would be
	Problem  Document         `json:"problem,omitempty"` // what failed, as JSON
}

// Err returns what failed, nil if nothing did.
func (i *BulkItem) Err() error {
	if len(i.Problem) == 0 {
		return nil
	}
	return Problem(i.Problem)
}

// Bulk does something to all threads of a query, page by page. A failure about one thread is in the
// report and stops no other. With an error of the call the report has what was done before it.
func (o Operations) Bulk(ctx context.Context, verb Verb, q *BulkQuery) (*BulkReport, error) {
	all := &BulkReport{DryRun: q.DryRun, Items: []BulkItem{}}
	for after := ""; ; {
		body := struct {
			*BulkQuery
			After string `json:"after,omitempty"`
		}{q, after}
		var page BulkReport
		if err := o.client.ask(ctx, http.MethodPost, "/api/bulk"+Path(string(verb)), nil, body, &page); err != nil {
			return all, err
		}
		all.Done, all.Failed, all.Items = all.Done+page.Done, all.Failed+page.Failed, append(all.Items, page.Items...)
		after = page.Next
		if after == "" {
			return all, nil
		}
	}
}

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
	failed := ""
	if q.Failed {
		failed = "true"
	}
	return exactList[*Task](ctx, o.client, "/api/tasks", given("thread", q.Thread, "task", q.Task, "failed", failed), q.Limit)
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

func (o Operations) task(ctx context.Context, method string, id posthouse.ID, body any, below ...string) (*Task, error) {
	t := new(Task)
	return t, o.client.ask(ctx, method, taskPath(id, below...), nil, body, t)
}

func taskPath(id posthouse.ID, below ...string) string {
	return "/api/tasks" + Path(append([]string{string(id)}, below...)...)
}
