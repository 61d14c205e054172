package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// The paths of probes. They need no token and answer for every Host.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

func (s *Server) systemRoutes() []*api.Route {
	ok := []api.Answer{{Status: http.StatusOK, Help: "yes", Body: statusBody{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: healthPath, Summary: "Is the process alive?", Handle: api.Show(s.healthz), Answers: ok,
		},
		{
			Method: http.MethodGet, Path: readyPath, Summary: "Does the store answer and take writes?", Handle: api.Show(s.readyz),
			Notes: "503 with the store's code otherwise: unavailable where its server does not answer, read-only after a failed write. " +
				"With weak settings the store works, but may lose what it acknowledged.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "yes", Body: readyBody{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/encryption", Role: tokens.Viewer, Summary: "How is stored data protected?", Handle: api.Show(s.encryptionStatus),
			Notes:   "The encryption and signing keys used for new entries. Each thread's summary says whether it is sealed.",
			Answers: []api.Answer{{Status: http.StatusOK, Help: "how stored data is encrypted and signed", Body: ledger.EncryptionStatus{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/me", Role: tokens.Viewer, Summary: "Who am I?", Handle: api.Show(s.me),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the token that was sent, or stands behind the cookie", Body: meBody{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/openapi.json", Summary: "This description", Handle: s.describe,
			Answers: []api.Answer{{Status: http.StatusOK, Help: "OpenAPI 3.1", Body: nil, Media: "application/json"}},
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

type meBody struct {
	Name string      `json:"name"`
	Role tokens.Role `json:"role"` // viewer, approver, operator or worker
}

func (s *Server) me(r *api.Request) (meBody, error) { return meBody{r.Actor.Name, r.Actor.Role}, nil }

func (s *Server) healthz(*api.Request) (statusBody, error) { return statusBody{"ok"}, nil }

func (s *Server) readyz(r *api.Request) (readyBody, error) {
	weak, err := s.ready.check(context.WithoutCancel(r.Context()))
	if err != nil {
		s.log.Warn("not ready", "error", err)
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

func (s *Server) encryptionStatus(*api.Request) (ledger.EncryptionStatus, error) {
	return s.ledger.EncryptionStatus(), nil
}

// probe reads from the store and writes to it. It writes this process's liveness slot,
// which is renewed anyway. A store that a failed write has poisoned refuses that.
func (s *Server) probe(ctx context.Context) error {
	for _, err := range s.ledger.Threads(ctx, posthouse.ThreadQuery{Limit: 1}) {
		if err != nil {
			return err
		}
	}
	return s.ledger.Core().Heartbeat(ctx)
}

// weak asks the store by what it may lose acknowledged writes: settings of its server,
// which may change while that runs.
func (s *Server) weak(ctx context.Context) ([]string, error) {
	if w, ok := s.ledger.Store().(posthouse.Weaker); ok {
		return w.Weak(ctx)
	}
	return nil, nil
}

// readiness keeps the outcome of a probe for a second, so that frequent requests do
// not load the store.
type readiness struct {
	now   func() time.Time
	probe func(context.Context) error
	weak  func(context.Context) ([]string, error) // nil: nobody is asked

	mu    sync.Mutex
	asked time.Time
	found []string // that is weak
	err   error
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

func (s *Server) describe(w http.ResponseWriter, _ *api.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(s.openapi) // the client may be gone: nobody else to tell
	return nil
}
