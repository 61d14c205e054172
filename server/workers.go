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

// workerCalls says what each call of the protocol is for.
var workerCalls = map[string]struct{ summary, notes string }{
	wire.Connect:    {"Connect a worker", "The answer names the session, its lease and how long a claim waits."},
	wire.Claim:      {"Claim a task", "Waits until there is one for the session's worker, or its time is over; then the answer is empty, and the worker asks again."},
	wire.Heartbeat:  {"Keep a session and its claims", "To be sent several times a lease. The answer names claims that the worker has no more."},
	wire.Load:       {"Load a task's slot", "`saved` tells an empty slot from none."},
	wire.Save:       {"Save a task's slot", "The next attempt or iteration finds it. An empty value is kept and told apart from none; without a value the slot is cleared."},
	wire.Signal:     {"Send a signal for a task", "One with a key is sent once."},
	wire.Stream:     {"Stream a chunk of a task", "Those who follow the thread now get it. It is not recorded."},
	wire.Records:    {"Show what a task's handler has on record", "Results of its steps, and what it waited for, in pages: what the answer's `next` says is `after` in the request for the next one."},
	wire.Record:     {"Record the result of a handler's step", "The next run of the handler finds it. A result has at most 512 KiB, those of an iteration 16 MiB together."},
	wire.Begin:      {"Begin an effect of a task's handler", "Under a grant that the handler proposed. `begins` says that it is on record and is to run, on what the decision of `gate` licenses. With `result` it is done, with `waits` people are to be asked: park with a wait for it (`act`). The same call again, by its nonce, is the same attempt."},
	wire.End:        {"End an effect of a task's handler", "With its result, or why it did not act. What ends in neither way has an unknown outcome once the claim is over. The same call again does nothing."},
	wire.Resolve:    {"Resolve a task", "With a verdict: its action is complete, fail, fail-permanent, retry-after, unknown, pause, continue, await or interrupt. The same verdict again does nothing."},
	wire.Disconnect: {"Disconnect a worker", "Its claims are free at once, and their attempts count as not made."},
}

// workers are /api/workers, and /api/worker: the protocol of workers over HTTP.
type workers struct {
	tasks   Tasks // nil: workers are refused
	streams *stream.Streams
	timeout *limit.AnswerTimeout
}

func (ws *workers) Routes() []*api.Route {
	rs := []*api.Route{
		{
			Method: http.MethodGet, Path: "/api/workers", Role: tokens.Viewer, Summary: "List workers", Handle: api.Show(ws.list),
			Notes:   "Those that talk to this server, and to others over the same store.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the workers, by name", Body: []task.WorkerInfo{}, Media: ""}},
		},
	}
	for _, method := range wire.Methods {
		c := workerCalls[method]
		rs = append(rs, &api.Route{
			Method: http.MethodPost, Path: "/api/worker/" + method, Role: tokens.Worker, Summary: c.summary, Notes: c.notes, MaxBody: int64(wire.MaxOf(method)),
			Body: wire.TaskRequest{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "done", Body: wire.TaskReply{}, Media: ""}},
			Handle: api.Reply(func(r *api.Request, in *wire.TaskRequest) (*wire.TaskReply, error) {
				return ws.call(r, method, in)
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
