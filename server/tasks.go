package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// Tasks give tasks to workers, and show them to operators. A dispatch.Dispatcher does both.
type Tasks interface {
	task.Engine
	task.Control
}

// A Task is a task of a list. Error says why it cannot be read whole.
type Task struct {
	task.Info
	Error *problem.Details `json:"error,omitempty" doc:"why it cannot be read whole"`
}

// A TaskSlot is what handlers keep between a task's attempts.
type TaskSlot struct {
	Saved bool   `json:"saved" doc:"there is a value, which may be empty"`
	Value []byte `json:"value,omitempty"`
}

// tasks are /api/tasks: what workers do, as operators see and change it.
type tasks struct{ control Tasks } // nil: no tasks are given to workers here

func (ts *tasks) Routes() []*api.Route {
	const path = "/api/tasks"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List open tasks", Handle: ts.list,
			Notes: "Each attempt, pause and iteration of a task has a gate of its own, which is the id here.",
			Query: []api.Param{
				threadParam, {Name: "task", Kind: api.TextParam, Help: "of this handler"},
				{Name: "failed", Kind: api.BoolParam, Help: "those that failed for good, as long as their branches wait for somebody to retry them"},
				orderParam, limitParam, cursorParam, fieldsParam,
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of open tasks", Body: api.List[Task]{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}", Role: tokens.Viewer, Summary: "Show a task", Handle: api.Show(ts.get),
			Notes: "Also one that is over.", Answers: []api.Answer{{Status: http.StatusOK, Help: "the task", Body: task.Info{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}/slot", Role: tokens.Viewer, Summary: "Show a task's slot", Handle: api.Show(ts.getSlot),
			Notes: "What its handlers keep between attempts.", Answers: []api.Answer{{Status: http.StatusOK, Help: "the slot", Body: TaskSlot{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}/slot", Role: tokens.Operator, Summary: "Clear a task's slot", Handle: ts.clearSlot,
			Notes:   "The next attempt finds nothing. 409 while a worker has the task.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is clear", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/resume", Role: tokens.Operator, Summary: "Have a task go on now", Handle: api.Show(ts.resume),
			Notes:   "One that is paused, or waits for its next attempt. The answer is the task that takes its place. 409 while a worker has it.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the task that goes on", Body: task.Info{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/pause", Role: tokens.Operator, Summary: "Have a task wait", Body: pauseBody{}, Handle: api.Reply(ts.pause),
			Notes:   "Until its time is over or it is resumed. The answer is the task that takes its place. 409 while a worker has it.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the task that waits", Body: task.Info{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/retry", Role: tokens.Operator, Summary: "Retry a failed task", Handle: api.Show(ts.retry),
			Notes:   "With what handlers saved and all its attempts. If the thread went on since, that is on a new branch. 409 for a task that is open or has not failed.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the new task", Body: task.Info{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Operator, Summary: "Give a failed task up", Handle: ts.purge,
			Notes:   "Its slot is cleared, and the branch that failed with it is cancelled. 409 for a task that is open or has not failed.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is given up", Body: nil, Media: ""}},
		},
	}
}

// check fails on a server that gives no tasks to workers.
func (ts *tasks) check() error {
	if ts.control == nil {
		return errNoTasks()
	}
	return nil
}

func errNoTasks() error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "no tasks are given to workers here", Hint: "ask a server that was started with tasks",
	}
}

func (ts *tasks) list(w http.ResponseWriter, r *api.Request) error {
	if err := ts.check(); err != nil {
		return err
	}
	page, limit, next := []Task{}, r.Number("limit", defaultLimit), ""
	q := task.Query{Thread: r.Query["thread"], Task: r.Query["task"], Newest: r.Query["order"] != "asc", Failed: r.Query["failed"] == "true"}
	if err := readTaskCursor(r.Query["cursor"], &q); err != nil {
		return err
	}
	for i, err := range ts.control.Tasks(r.Context(), q) {
		if i == nil {
			return err
		}
		if len(page) == limit {
			next = taskCursor(&page[limit-1], q.Failed)
			break
		}
		t := Task{Info: *i}
		if err != nil {
			t.Error = unread(w, err)
		}
		page = append(page, t)
	}
	return api.WriteList(w, r, api.List[Task]{Items: page, Next: next})
}

// taskCursor names a task as the last of a page: by its gate, and by gate@thread among those
// that failed, where a thread that cannot be read has no gate.
func taskCursor(t *Task, failed bool) string {
	if failed {
		return string(t.ID) + "@" + t.Thread
	}
	return string(t.ID)
}

// readTaskCursor has a query go on after what a cursor names. No id has an @ in it.
func readTaskCursor(cursor string, q *task.Query) error {
	if cursor == "" {
		return nil
	}
	gate, thread, found := strings.Cut(cursor, "@")
	if gate != "" {
		if err := posthouse.ValidateID("cursor", gate); err != nil {
			return err
		}
	}
	if found != q.Failed || found && thread == "" {
		e := posthouse.Invalid("cursor", "%.80q is not one of this list", cursor)
		e.Hint = "give X-Next-Cursor of the page before"
		return e
	}
	q.After, q.AfterThread = posthouse.ID(gate), thread
	return nil
}

func (ts *tasks) get(r *api.Request) (*task.Info, error) {
	if err := ts.check(); err != nil {
		return nil, err
	}
	return ts.control.Task(r.Context(), r.ID("id"))
}

func (ts *tasks) getSlot(r *api.Request) (*TaskSlot, error) {
	if err := ts.check(); err != nil {
		return nil, err
	}
	value, err := ts.control.Slot(r.Context(), r.ID("id"))
	return &TaskSlot{Saved: value != nil, Value: value}, err
}

func (ts *tasks) clearSlot(w http.ResponseWriter, r *api.Request) error {
	if err := ts.check(); err != nil {
		return err
	}
	if err := ts.control.ClearSlot(r.Context(), r.ID("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (ts *tasks) resume(r *api.Request) (*task.Info, error) {
	if err := ts.check(); err != nil {
		return nil, err
	}
	return ts.control.Resume(r.Context(), r.ID("id"), r.Actor.Name)
}

// A pauseBody says how long a task waits.
type pauseBody struct {
	For time.Duration `json:"for" doc:"nanoseconds, from 1 ms to 100 years"`
}

func (ts *tasks) pause(r *api.Request, b *pauseBody) (*task.Info, error) {
	if err := ts.check(); err != nil {
		return nil, err
	}
	return ts.control.Pause(r.Context(), r.ID("id"), b.For, r.Actor.Name)
}

func (ts *tasks) retry(r *api.Request) (*task.Info, error) {
	if err := ts.check(); err != nil {
		return nil, err
	}
	return ts.control.Retry(r.Context(), r.ID("id"), r.Actor.Name)
}

func (ts *tasks) purge(w http.ResponseWriter, r *api.Request) error {
	if err := ts.check(); err != nil {
		return err
	}
	if err := ts.control.Purge(r.Context(), r.ID("id"), r.Actor.Name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
