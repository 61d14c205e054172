package probe

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
	LivePath  = "/healthz"
	ReadyPath = "/readyz"
)

// Probes are /healthz and /readyz. The outcome of a look at the store is kept for a second, so that
// frequent requests do not load it.
type Probes struct {
	Now   func() time.Time
	Log   *slog.Logger
	Ready func(context.Context) error             // says why the store does not work
	Weak  func(context.Context) ([]string, error) // says by what the store may lose acknowledged writes; nil: it is not asked

	mu    sync.Mutex
	asked time.Time
	found []string // that is weak
	err   error
}

// New returns probes of a Ledger's store. Ready is asked in place of the Ledger, if it is set.
func New(l *ledger.Ledger, ready func(context.Context) error, now func() time.Time, log *slog.Logger) *Probes {
	p := &Probes{Now: now, Log: log, Ready: ready, Weak: func(ctx context.Context) ([]string, error) { return weak(ctx, l) }}
	if ready == nil {
		p.Ready = func(ctx context.Context) error { return try(ctx, l) }
	}
	return p
}

// Routes returns the two probes.
func (p *Probes) Routes() []*api.Route {
	ok := []api.Answer{{Status: http.StatusOK, Help: "yes", Body: statusBody{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: LivePath, Summary: "Is the process alive?", Handle: api.Show(p.healthz), Answers: ok,
		},
		{
			Method: http.MethodGet, Path: ReadyPath, Summary: "Does the store answer and take writes?", Handle: api.Show(p.readyz),
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

func (p *Probes) healthz(*api.Request) (statusBody, error) { return statusBody{"ok"}, nil }

func (p *Probes) readyz(r *api.Request) (readyBody, error) {
	weak, err := p.check(context.WithoutCancel(r.Context()))
	if err != nil {
		p.Log.Warn("not ready", "error", err)
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

const (
	readyFor      = time.Second
	readyPatience = 5 * time.Second
)

func (p *Probes) check(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.Now(); p.asked.IsZero() || now.Sub(p.asked) >= readyFor || now.Before(p.asked) {
		ctx, cancel := context.WithTimeout(ctx, readyPatience)
		defer cancel()
		p.found, p.err, p.asked = nil, p.Ready(ctx), now
		if p.Weak != nil && p.err == nil {
			p.found, p.err = p.Weak(ctx)
		}
	}
	return p.found, p.err
}

// try reads from the store and writes to it. It writes this process's liveness slot,
// which is renewed anyway. A store that a failed write has poisoned refuses that.
func try(ctx context.Context, l *ledger.Ledger) error {
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
