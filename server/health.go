package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// The paths of probes. They need no token and answer for every Host.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// health is /healthz and /readyz: the probes.
type health struct {
	ready *readiness
	log   *slog.Logger
}

func (h *health) Routes() []*api.Route {
	ok := []api.Answer{{Status: http.StatusOK, Help: "yes", Body: statusBody{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: healthPath, Summary: "Is the process alive?", Handle: api.Show(h.healthz), Answers: ok,
		},
		{
			Method: http.MethodGet, Path: readyPath, Summary: "Does the store answer and take writes?", Handle: api.Show(h.readyz),
			Notes: "503 with the store's code otherwise: unavailable where its server does not answer, read-only after a failed write. " +
				"With weak settings the store works, but may lose what it acknowledged.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "yes", Body: readyBody{}, Media: ""}},
		},
	}
}

type statusBody struct {
	Status string `json:"status"` // "ok"
}

type readyBody struct {
	Status string   `json:"status"`         // "ok"
	Weak   []string `json:"weak,omitempty"` // by what the store may lose acknowledged writes, for people
}

func (h *health) healthz(*api.Request) (statusBody, error) { return statusBody{"ok"}, nil }

func (h *health) readyz(r *api.Request) (readyBody, error) {
	weak, err := h.ready.check(context.WithoutCancel(r.Context()))
	if err != nil {
		h.log.Warn("not ready", "error", err)
		code := problem.Client(err).Code
		if problem.Status(code) < 500 || code == posthouse.CodeUnknown {
			code = posthouse.CodeUnavailable
		}
		message := "the store does not work as it should"
		if code == posthouse.CodeUnavailable {
			message = "the store does not answer"
		}
		// This path needs no token, so the answer has no details.
		return readyBody{}, &posthouse.Error{Code: code, Message: message, Hint: "the server's log says more", Err: err}
	}
	return readyBody{"ok", weak}, nil
}

// readiness keeps the outcome of a probe for a second, so that frequent requests do
// not load the store.
type readiness struct {
	now   func() time.Time
	probe func(context.Context) error
	weak  func(context.Context) ([]string, error) // nil: it is not asked

	mu    sync.Mutex
	asked time.Time
	found []string // that is weak
	err   error
}

func newReadiness(o *Options) *readiness {
	r := &readiness{now: o.Now, probe: o.Ready, weak: func(ctx context.Context) ([]string, error) { return weak(ctx, o.Ledger) }}
	if o.Ready == nil {
		r.probe = func(ctx context.Context) error { return probe(ctx, o.Ledger) }
	}
	return r
}

const (
	readyFor      = time.Second
	readyPatience = 5 * time.Second
)

func (r *readiness) check(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.asked.IsZero() || now.Sub(r.asked) >= readyFor || now.Before(r.asked) {
		ctx, cancel := context.WithTimeout(ctx, readyPatience)
		defer cancel()
		r.found, r.err, r.asked = nil, r.probe(ctx), now
		if r.weak != nil && r.err == nil {
			r.found, r.err = r.weak(ctx)
		}
	}
	return r.found, r.err
}

// probe reads from the store and writes to it. It writes this process's liveness slot,
// which is renewed anyway. A store that a failed write has poisoned refuses that.
func probe(ctx context.Context, l *ledger.Ledger) error {
	for _, err := range l.Threads(ctx, posthouse.ThreadQuery{Limit: 1}) {
		if err != nil {
			return err
		}
	}
	return l.Core().Heartbeat(ctx)
}

// weak asks the store by what it may lose acknowledged writes: settings of its server,
// which may change while that runs.
func weak(ctx context.Context, l *ledger.Ledger) ([]string, error) {
	if w, ok := l.Store().(posthouse.Weaker); ok {
		return w.Weak(ctx)
	}
	return nil, nil
}
