package server

import (
	"net/http"

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

func (s *Server) taskRoutes() []*api.Route {
	const path = "/api/tasks"
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List open tasks", Handle: s.listTasks,
			Notes: "Each attempt, pause and iteration of a task has a gate of its own, which is the id here.",
			Query: []api.Param{
				threadParam, {Name: "task", Kind: api.TextParam, Help: "of this handler"},
				orderParam, limitParam, {Name: "cursor", Kind: api.IDParam, Help: cursorParam.Help},
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of open tasks", Body: []Task{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}", Role: tokens.Viewer, Summary: "Show a task", Handle: api.Show(s.getTask),
			Notes: "Also one that is over.", Answers: []api.Answer{{Status: http.StatusOK, Help: "the task", Body: task.Info{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}/slot", Role: tokens.Viewer, Summary: "Show a task's slot", Handle: api.Show(s.getTaskSlot),
			Notes: "What its handlers keep between attempts.", Answers: []api.Answer{{Status: http.StatusOK, Help: "the slot", Body: TaskSlot{}, Media: ""}},
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}/slot", Role: tokens.Operator, Summary: "Clear a task's slot", Handle: s.clearTaskSlot,
			Notes:   "The next attempt finds nothing. 409 while a worker has the task.",
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is clear", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/resume", Role: tokens.Operator, Summary: "Have a task go on now", Handle: api.Show(s.resumeTask),
			Notes:   "One that is paused, or waits for its next attempt. The answer is the task that takes its place. 409 while a worker has it.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the task that goes on", Body: task.Info{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/workers", Role: tokens.Viewer, Summary: "List workers", Handle: api.Show(s.listWorkers),
			Notes:   "Those that talk to this server. Another server over the same store has others.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the workers, by name", Body: []task.WorkerInfo{}, Media: ""}},
		},
	}
}

func (s *Server) noTasks() error {
	if s.tasks != nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "no tasks are given to workers here", Hint: "ask a server that was started with tasks",
	}
}

func (s *Server) listTasks(w http.ResponseWriter, r *api.Request) error {
	if err := s.noTasks(); err != nil {
		return err
	}
	tasks, limit, next := []Task{}, r.Number("limit", defaultLimit), ""
	for i, err := range s.tasks.Tasks(r.Context(), task.Query{
		Thread: r.Query["thread"], Task: r.Query["task"], Newest: r.Query["order"] != "asc", After: posthouse.ID(r.Query["cursor"]),
	}) {
		if i == nil {
			return err
		}
		if len(tasks) == limit {
			next = string(tasks[limit-1].ID)
			break
		}
		t := Task{Info: *i}
		if err != nil {
			t.Error = unread(w, err)
		}
		tasks = append(tasks, t)
	}
	return api.WritePage(w, r, tasks, next)
}

func (s *Server) getTask(r *api.Request) (*task.Info, error) {
	if err := s.noTasks(); err != nil {
		return nil, err
	}
	return s.tasks.Task(r.Context(), r.ID("id"))
}

func (s *Server) getTaskSlot(r *api.Request) (*TaskSlot, error) {
	if err := s.noTasks(); err != nil {
		return nil, err
	}
	value, err := s.tasks.Slot(r.Context(), r.ID("id"))
	return &TaskSlot{Saved: value != nil, Value: value}, err
}

func (s *Server) clearTaskSlot(w http.ResponseWriter, r *api.Request) error {
	if err := s.noTasks(); err != nil {
		return err
	}
	if err := s.tasks.ClearSlot(r.Context(), r.ID("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) resumeTask(r *api.Request) (*task.Info, error) {
	if err := s.noTasks(); err != nil {
		return nil, err
	}
	return s.tasks.Resume(r.Context(), r.ID("id"), r.Actor.Name)
}

func (s *Server) listWorkers(r *api.Request) ([]task.WorkerInfo, error) {
	if err := s.noTasks(); err != nil {
		return nil, err
	}
	return s.tasks.Workers(r.Context()), nil
}
