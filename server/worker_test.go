package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
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

func (h *house) claim() *reply {
	return h.send(ask{method: "POST", path: "/api/worker/claim", body: claimBody, as: tokens.Worker})
}

// TestClaimsEnd without a task when their time is over, and when the server closes.
func TestClaimsEnd(t *testing.T) {
	idle := idleTasks{waiting: make(chan struct{}, 1)}
	h := open(t, func(o *Options) { o.Tasks, o.Limits.Wait = idle, 20*time.Millisecond })
	if a := h.claim().want(http.StatusOK); strings.TrimSpace(string(a.body)) != "{}" {
		t.Errorf("%s", a.body)
	}
	<-idle.waiting

	idle = idleTasks{waiting: make(chan struct{}, 1)}
	h = open(t, func(o *Options) { o.Tasks, o.Limits.Wait = idle, time.Hour })
	answered := make(chan *reply)
	go func() { answered <- h.claim() }()
	<-idle.waiting
	check(t, h.server.Close(t.Context()))
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
	check(t, h.server.Close(t.Context()))
	for range 2 {
		(<-answered).want(http.StatusOK)
	}
}

// TestWorkersReadNothing: their token opens no other route, and none without tasks.
func TestWorkersReadNothing(t *testing.T) {
	h := open(t, func(o *Options) { o.Tasks = nil })
	for _, path := range []string{"/api/threads", "/api/gates", "/api/events", "/", "/api/nothing"} {
		h.send(ask{method: "GET", path: path, as: tokens.Worker}).refused(posthouse.CodeForbidden)
	}
	h.claim().refused(posthouse.CodeUnsupported)
	for _, path := range []string{"/api/tasks", "/api/tasks/gate-x", "/api/tasks/gate-x/slot", "/api/workers"} {
		h.get(path).refused(posthouse.CodeUnsupported)
	}
	h.send(ask{method: "POST", path: "/api/worker/claim", body: claimBody, as: tokens.Approver}).refused(posthouse.CodeForbidden)
}
