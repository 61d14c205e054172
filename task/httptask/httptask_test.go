package httptask_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/httptask"
	"github.com/posthouse/posthouse/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An engine is a server over a program with a task as its one step.
type engine struct {
	t      *testing.T
	ledger *ledger.Ledger
	app    *flow.App[int, int]
	tokens *tokens.List
	tasks  *dispatch.Dispatcher
	http   *httptest.Server
}

func startEngine(t *testing.T, tasks bool) *engine {
	t.Helper()
	return startEngineWith(t, tasks, nil)
}

func startEngineWith(t *testing.T, tasks bool, o *ledger.Options) *engine {
	t.Helper()
	e := &engine{t: t}
	var err error
	e.ledger, err = ledger.Open(memstore.New(), o)
	must.Do(t, err)
	e.app, err = flow.New("f", func(ctx context.Context, in int) (int, error) {
		return step.Remote[int](ctx, "double", "double", in)
	}).Open(e.ledger, nil)
	must.Do(t, err)
	r, err := runner.New(e.ledger, &runner.Options{Programs: []posthouse.Program{e.app}})
	must.Do(t, err)
	d, err := dispatch.New(e.ledger, &dispatch.Options{Poll: 50 * time.Millisecond})
	must.Do(t, err)
	e.tasks = d
	e.tokens, err = tokens.Open(t.TempDir(), nil)
	must.Do(t, err)
	so := server.Options{Ledger: e.ledger, Tokens: e.tokens, Runner: r}
	if tasks {
		so.Tasks = d
	}
	s, err := server.New(so)
	must.Do(t, err)
	e.http = httptest.NewUnstartedServer(nil)
	e.http.Config = s.HTTPServer("")
	e.http.StartTLS()
	t.Cleanup(func() {
		must.Do(t, s.Close(context.Background()))
		e.http.Close()
		must.Do(t, e.ledger.Close())
	})
	run(t, d.Run, r.Run)
	return e
}

// worker returns the engine that a token of a role reaches.
func (e *engine) reach(name string, role tokens.Role) task.Engine {
	e.t.Helper()
	secret, err := e.tokens.Create(name, role, nil)
	must.Do(e.t, err)
	return e.reachWith(secret)
}

func (e *engine) reachWith(secret string) task.Engine {
	e.t.Helper()
	far, err := httptask.NewEngine(e.http.URL, secret, e.http.Client())
	must.Do(e.t, err)
	return far
}

func run(t *testing.T, fns ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for _, fn := range fns {
		go func() { ended <- fn(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range fns {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestWorkersOverHTTP: 30 runs by two workers with tokens of their own, over TLS.
func TestWorkersOverHTTP(t *testing.T) {
	e := startEngine(t, true)
	var handled atomic.Int32
	for i := range 2 {
		name := fmt.Sprint("w", i)
		w, err := worker.New(e.reach(name, tokens.Worker), &worker.Options{Name: name, Concurrency: 4})
		must.Do(t, err)
		worker.Handle(w, "double", func(t worker.Task, in int) (int, error) {
			if err := worker.Save(t, in); err != nil {
				return 0, err
			}
			kept, ok, err := worker.Load[int](t)
			if err != nil || !ok || kept != in {
				return 0, fmt.Errorf("kept %d, %v, %v", kept, ok, err)
			}
			handled.Add(1)
			return 2 * in, nil
		})
		run(t, w.Run)
	}
	const n = 30
	for i := range n {
		_, err := e.app.Run(t.Context(), fmt.Sprint("t", i), i)
		must.Do(t, err)
	}
	for i := range n {
		e.done(fmt.Sprint("t", i))
	}
	if h := handled.Load(); h != n {
		t.Errorf("handled %d of %d", h, n)
	}
}

// TestManyStepsComeBack: the second attempt finds what the first recorded, though no answer
// carries all of it, and runs no step again.
func TestManyStepsComeBack(t *testing.T) {
	e := startEngine(t, true)
	w, err := worker.New(e.reach("w", tokens.Worker), nil)
	must.Do(t, err)
	const n = 7 // together more than an answer may have
	var ran, attempts atomic.Int32
	worker.Handle(w, "double", func(wt worker.Task, in int) (int, error) {
		for i := range n {
			have, err := step.Do(wt.Context(), "read", func(context.Context) (string, error) {
				ran.Add(1)
				return strings.Repeat(string(rune('a'+i)), task.MaxStep-2), nil
			})
			if err != nil {
				return 0, err
			}
			if len(have) != task.MaxStep-2 || have[0] != byte('a'+i) {
				return 0, worker.Permanent(errors.New("another result"))
			}
		}
		if attempts.Add(1) == 1 {
			return 0, errors.New("try again")
		}
		return 2 * in, nil
	})
	run(t, w.Run)
	_, err = e.app.Run(t.Context(), "t", 1)
	must.Do(t, err)
	e.done("t")
	if attempts.Load() != 2 || ran.Load() != n {
		t.Errorf("%d steps ran in %d attempts", ran.Load(), attempts.Load())
	}
}

// done waits for the end of a thread.
func (e *engine) done(thread string) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	for ev, err := range e.ledger.Watch(ctx, ledger.WatchQuery{Thread: thread}) {
		must.Do(e.t, err)
		if ev.Checkpoint != nil && ev.Checkpoint.Status == posthouse.StatusDone {
			return
		}
	}
	e.t.Fatalf("thread %s does not end", thread)
}

// TestRefusals keep their code, and say which field.
func TestRefusals(t *testing.T) {
	e := startEngine(t, true)
	for _, role := range []tokens.Role{tokens.Viewer, tokens.Approver} {
		if _, err := e.reach(string(role), role).Connect(t.Context(), hello()); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("a %s connects: %v", role, err)
		}
	}
	far := e.reach("w", tokens.Worker)
	bad := hello()
	bad.Concurrency = -1
	var own *posthouse.Error
	if _, err := far.Connect(t.Context(), bad); !errors.As(err, &own) || own.Code != posthouse.CodeInvalid || own.Field != "atOnce" || strings.HasPrefix(own.Message, "atOnce") {
		t.Errorf("own %+v", own)
	}
	if _, err := far.Heartbeat(t.Context(), "worker-x", nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	if err := far.Save(t.Context(), task.ClaimID{Gate: "gate-x", Fence: 1}, 0, make([]byte, task.MaxSlot+1)); !errors.Is(err, posthouse.ErrTooLarge) && !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a slot above the limit: %v", err)
	}
	must.Do(t, e.tokens.Revoke("w", nil))
	w, err := worker.New(far, nil)
	must.Do(t, err)
	worker.Handle(w, "double", func(worker.Task, int) (int, error) { return 0, nil })
	if err := w.Run(t.Context()); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("a worker whose token was revoked: %v", err)
	}
	if _, err := startEngine(t, false).reach("w", tokens.Worker).Connect(t.Context(), hello()); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("a server without tasks: %v", err)
	}
}

func hello() task.Hello {
	return task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"double"}, Concurrency: 1}
}

// TestAddresses that would send the token in the clear, or nowhere, are refused.
func TestAddresses(t *testing.T) {
	for server, field := range map[string]string{
		"": "server", "ftp://x": "server", "http://posthouse.example": "server", "https://a:b@posthouse.example": "server", "posthouse.example": "server",
		"https://posthouse.example": "", "http://127.0.0.1:8095/": "", "http://localhost:8095": "", "http://[::1]:8095": "",
	} {
		var own *posthouse.Error
		if _, err := httptask.NewEngine(server, "ph_x", nil); (err == nil) != (field == "") || field != "" && (!errors.As(err, &own) || own.Field != field) {
			t.Errorf("%q: %v", server, err)
		}
	}
	for _, token := range []string{"", "a b", "a\nb"} {
		if _, err := httptask.NewEngine("https://posthouse.example", token, nil); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// TestMalformedAnswersMayBeRepeated: a call without a usable answer may be made again.
func TestMalformedAnswersMayBeRepeated(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"a proxy's page": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>"))
		},
		"a page":               func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"a redirect":           func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusSeeOther) },
		"a server shutting":    func(w http.ResponseWriter, _ *http.Request) { problem(w, 503, "closed") },
		"too many":             func(w http.ResponseWriter, _ *http.Request) { problem(w, 429, "too-many") },
		"an answer cut off":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"something unexpected": func(w http.ResponseWriter, _ *http.Request) { problem(w, 500, "internal") },
	} {
		s := httptest.NewServer(answer)
		e, err := httptask.NewEngine(s.URL, "ph_x", s.Client())
		must.Do(t, err)
		if _, err := e.Connect(t.Context(), hello()); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
		s.Close()
	}
}

func problem(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"status":%d,"code":%q,"detail":"later"}`, status, code)
}
