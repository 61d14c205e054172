package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

// idleTasks has no task: claims wait until their context ends.
type idleTasks struct {
	task.Engine
	task.Control
	waiting chan struct{}
}

func (e idleTasks) Claim(ctx context.Context, _ string) (*task.Claim, error) {
	e.waiting <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

const claimBody = `{"session":"worker-x"}`

func (h *testServer) claim() *reply {
	return h.send(ask{method: "POST", path: "/api/worker/claim", body: claimBody, as: tokens.Worker})
}

// TestClaimsEnd without a task when their time is over, and when the server closes.
func TestClaimsEnd(t *testing.T) {
	idle := idleTasks{waiting: make(chan struct{}, 1)}
	h := open(t, func(o *Options) { o.Tasks, o.Limits.Wait = idle, 20*time.Millisecond })
	if a := h.claim().want(http.StatusOK); strings.TrimSpace(string(a.body)) != "{}" {
		t.Errorf("a.body %s", a.body)
	}
	<-idle.waiting

	idle = idleTasks{waiting: make(chan struct{}, 1)}
	h = open(t, func(o *Options) { o.Tasks, o.Limits.Wait = idle, time.Hour })
	answered := make(chan *reply)
	go func() { answered <- h.claim() }()
	<-idle.waiting
	must.Do(t, h.server.Close(t.Context()))
	(<-answered).want(http.StatusOK)
	h.claim().refused(posthouse.CodeClosed)
}

// TestClaimsAreBounded for each token, as streams are.
func TestClaimsAreBounded(t *testing.T) {
	idle := idleTasks{waiting: make(chan struct{}, 2)}
	h := open(t, func(o *Options) { o.Tasks, o.Limits.Wait, o.Limits.TokenStreams = idle, time.Hour, 2 })
	answered := make(chan *reply, 2)
	for range 2 {
		go func() { answered <- h.claim() }()
		<-idle.waiting
	}
	h.claim().refused(problem.CodeTooMany)
	must.Do(t, h.server.Close(t.Context()))
	for range 2 {
		(<-answered).want(http.StatusOK)
	}
}

// An endless body has letters, and counts those that are read.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	e.read += int64(len(b))
	return len(b), nil
}

// TestBodiesOfWorkers are bounded by what the protocol takes, while they are read, whatever the
// server takes of others.
func TestBodiesOfWorkers(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.State = 64 << 20 })
	for _, m := range wire.Methods() {
		method, most := m.Name, m.MaxRequest()
		fits := `{"session":"` + strings.Repeat("a", most-100) + `"}`
		h.send(ask{method: "POST", path: "/api/worker/" + method, body: fits, as: tokens.Worker}).refused(posthouse.CodeInvalid)
		over := `{"session":"` + strings.Repeat("a", most) + `"}`
		p := h.send(ask{method: "POST", path: "/api/worker/" + method, body: over, as: tokens.Worker}).refused(posthouse.CodeTooLarge)
		if !strings.Contains(p.Detail, strconv.Itoa(most)) {
			t.Errorf("%s: p.Detail %s", method, p.Detail)
		}
		body := &endless{}
		r := httptest.NewRequest("POST", "/api/worker/"+method, nil)
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"session":"`), body))
		r.Host, r.ContentLength = "127.0.0.1", -1
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+h.secrets[tokens.Worker])
		w := httptest.NewRecorder()
		h.server.HTTPServer("").Handler.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || body.read > int64(most)+drained+1<<20 {
			t.Errorf("%s: %d after %d bytes", method, w.Code, body.read)
		}
	}
}

// TestWorkersReadNothing: their token opens no other route, and no route on a server
// without tasks.
func TestWorkersReadNothing(t *testing.T) {
	h := open(t, func(o *Options) { o.Tasks = nil })
	for _, path := range []string{"/api/threads", "/api/gates", "/api/events", "/api/nothing"} {
		h.send(ask{method: "GET", path: path, as: tokens.Worker}).refused(posthouse.CodeForbidden)
	}
	h.claim().refused(posthouse.CodeUnsupported)
	for _, path := range []string{"/api/tasks", "/api/tasks/gate-x", "/api/tasks/gate-x/slot", "/api/workers"} {
		h.get(path).refused(posthouse.CodeUnsupported)
	}
	h.send(ask{method: "POST", path: "/api/worker/claim", body: claimBody, as: tokens.Approver}).refused(posthouse.CodeForbidden)
}
