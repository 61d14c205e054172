package server

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// standaloneTasks are POST /api/tasks and /api/standalone: tasks that are started by
// themselves.
type standaloneTasks struct{ starter task.Starter } // nil: the server starts no tasks

func (st *standaloneTasks) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodPost, Path: "/api/tasks", Role: tokens.Operator, Summary: "Start a task by itself", Body: task.Start{}, State: true, Handle: api.Reply(st.start),
			Notes:   "It has a thread of its own. Another start with the same key and content starts nothing, and answers with where the first stands. 409 for other content.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "where it stands", Body: task.Started{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/standalone/{thread}", Role: tokens.Viewer, Summary: "Show a task that was started by itself", Handle: api.Show(st.outcome),
			Notes: "With its output once it is done.", Answers: []api.Answer{{Status: http.StatusOK, Help: "where it stands", Body: task.Started{}, Media: ""}},
		},
	}
}

// check fails on a server that starts no tasks.
func (st *standaloneTasks) check() error {
	if st.starter != nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "no tasks are started by themselves here", Hint: "ask a server that was started with a starter of tasks",
	}
}

// start starts a task. A client that goes away does not undo it.
func (st *standaloneTasks) start(r *api.Request, start *task.Start) (*task.Started, error) {
	if err := st.check(); err != nil {
		return nil, err
	}
	return st.starter.Start(context.WithoutCancel(r.Context()), *start, r.Actor.Name)
}

func (st *standaloneTasks) outcome(r *api.Request) (*task.Started, error) {
	if err := st.check(); err != nil {
		return nil, err
	}
	return st.starter.Outcome(r.Context(), r.Name("thread"))
}
