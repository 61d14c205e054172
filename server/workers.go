package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

// workers are /api/workers, and /api/worker: the protocol of workers over HTTP.
type workers struct {
	tasks   Tasks // nil: workers are refused
	streams *stream.Streams
	timeout *limit.AnswerTimeout
}

func (ws *workers) Routes() []*api.Route {
	rs := []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/workers", Role: tokens.Viewer, Summary: "List workers", Handle: api.All(ws.list),
			Notes:   "Those that talk to this server, and to others over the same store.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the workers, by name", Body: api.List[task.WorkerInfo]{}, Media: ""}},
		},
	}
	for _, m := range wire.Methods() {
		rs = append(rs, &api.Route{
			Method: http.MethodPost, Path: "/api/worker/" + m.Name, Role: tokens.Worker, Summary: m.Summary, Notes: m.Notes, MaxBody: int64(m.MaxRequest()),
			Body: wire.TaskRequest{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "done", Body: wire.TaskReply{}, Media: ""}},
			Handle: api.Reply(func(r *api.Request, in *wire.TaskRequest) (*wire.TaskReply, error) {
				return ws.call(r, m.Name, in)
			}),
		})
	}
	return rs
}

// call makes a call of a worker. Claims wait, so each takes a place among the streams.
func (ws *workers) call(r *api.Request, method string, in *wire.TaskRequest) (*wire.TaskReply, error) {
	if ws.tasks == nil {
		return nil, errNoTasks()
	}
	ctx := task.WithPass(r.Context(), r.Actor.Pass())
	if method == wire.Claim {
		leave, err := ws.streams.Quota.Take(r.Actor.Name)
		if err != nil {
			return nil, err
		}
		defer leave()
		waiting, cancel := ws.timeout.Bound(ctx)
		defer cancel()
		ctx = waiting
	}
	out, err := wire.Do(ctx, ws.tasks, method, in)
	if method == wire.Claim && err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return &wire.TaskReply{}, nil // nothing came in that time
	}
	return out, err
}

func (ws *workers) list(r *api.Request) ([]task.WorkerInfo, error) {
	if ws.tasks == nil {
		return nil, errNoTasks()
	}
	return ws.tasks.Workers(r.Context())
}
