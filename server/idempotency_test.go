package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/problem"
)

// keyed sends a message under a key.
func (h *testServer) keyed(key, message string) *reply {
	h.t.Helper()
	return h.send(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"` + message + `"}`, header: []string{"Idempotency-Key: " + key}})
}

// TestIdempotencyKey sends requests again: at once, later, changed, by others,
// and to a server that knows them from the store alone.
func TestIdempotencyKey(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var clock atomic.Int64
	h := open(t, func(o *Options) { o.Now = func() time.Time { return now.Add(time.Duration(clock.Load())) } })
	var first, again Reply
	a := h.keyed("k1", "refund 1").want(http.StatusOK)
	a.into(&first)
	b := h.keyed("k1", "refund 1").want(http.StatusOK)
	b.into(&again)
	if first != again || first.Gate == "" || a.header.Get(agentcall.ReplayedHeader) != "" || b.header.Get(agentcall.ReplayedHeader) != "true" || a.header.Get(agentcall.RunHeader) != b.header.Get(agentcall.RunHeader) {
		t.Errorf("sent again it is answered %+v, the first time %+v; %v", again, first, b.header)
	}
	if p := h.keyed("k1", "refund 2").refused(problem.CodeKeyReused); p.Field != agentcall.KeyHeader || p.Hint == "" {
		t.Errorf("another message under the key: %+v", p)
	}
	var other Reply
	if h.keyed("k2", "refund 1").want(http.StatusOK).into(&other); other.Thread == first.Thread {
		t.Error("another key leads to the same thread")
	}

	clock.Store(int64(time.Hour)) // what was answered is not kept that long
	var known Accepted
	if h.keyed("k1", "refund 1").want(http.StatusAccepted).into(&known); known.Thread != first.Thread || !strings.HasSuffix(known.Location, first.Thread) {
		t.Errorf("an hour later: %+v", known)
	}
	h.keyed("k1", "refund 2").refused(problem.CodeKeyReused)
	clock.Store(int64(25 * time.Hour))
	var anew Reply
	if h.keyed("k1", "refund 2").want(http.StatusOK).into(&anew); anew.Thread == first.Thread {
		t.Error("a day later the key leads to the same thread")
	}
	threads := 0
	for range h.ledger.Threads(t.Context(), posthouse.ThreadQuery{}) {
		threads++
	}
	if threads != 3 {
		t.Errorf("%d threads, want 3", threads)
	}
}

// TestIdempotencyKeyRaces sends one request many times at once.
func TestIdempotencyKeyRaces(t *testing.T) {
	h := open(t, nil)
	var wg sync.WaitGroup
	threads := make([]Reply, 12)
	for i := range threads {
		wg.Go(func() { h.keyed("k", "refund 1").want(http.StatusOK).into(&threads[i]) })
	}
	wg.Wait()
	for _, r := range threads {
		if r != threads[0] || r.Thread == "" {
			t.Errorf("one is answered %+v, another %+v", r, threads[0])
		}
	}
}

// TestIdempotencyKeyOfAFailedRequest tries a request again that its agent did not take.
func TestIdempotencyKeyOfAFailedRequest(t *testing.T) {
	h := open(t, nil)
	calls := 0
	h.program.handle = func(ctx context.Context, message string, o *HandleOptions) (*Reply, error) {
		if calls++; calls == 1 {
			return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "not now"}
		}
		return &Reply{Thread: o.Thread, Text: fmt.Sprint("call ", calls)}, nil
	}
	h.keyed("k", "m").refused(posthouse.CodeClosed)
	var r Reply
	for range 2 {
		if h.keyed("k", "m").want(http.StatusOK).into(&r); r.Text != "call 2" {
			t.Errorf("answered %+v", r)
		}
	}
}

// TestIdempotencyKeyIsRefused where it would not be heeded.
func TestIdempotencyKeyIsRefused(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	for _, path := range []string{"/api/gates/" + string(g.ID) + "/approve", "/api/threads/t1/cancel"} {
		if p := h.send(ask{method: "POST", path: path, header: []string{"Idempotency-Key: k"}}).refused(posthouse.CodeInvalid); p.Field != agentcall.KeyHeader {
			t.Errorf("%s: %+v", path, p)
		}
	}
	h.send(ask{method: "GET", path: "/agent/dispatch", header: []string{"Idempotency-Key: k"}}).refused(posthouse.CodeInvalid)
	for _, bad := range []string{strings.Repeat("k", 256), "a b", "ä"} {
		h.keyed(bad, "m").refused(posthouse.CodeInvalid)
	}
	h.get("/api/threads/t1").want(http.StatusOK)
}
