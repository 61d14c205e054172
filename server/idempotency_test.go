package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
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
	if first != again || first.Gate == "" || a.header.Get(api.ReplayedHeader) != "" || b.header.Get(api.ReplayedHeader) != "true" || a.header.Get(agentcall.RunHeader) != b.header.Get(agentcall.RunHeader) {
		t.Errorf("sent again it is answered %+v, the first time %+v; %v", again, first, b.header)
	}
	if p := h.keyed("k1", "refund 2").refused(problem.CodeKeyReused); p.Field != api.KeyHeader || p.Hint == "" {
		t.Errorf("another message under the key: %+v", p)
	}
	var other Reply
	if h.keyed("k2", "refund 1").want(http.StatusOK).into(&other); other.Thread == first.Thread {
		t.Error("another key leads to the same thread")
	}

	clock.Store(int64(time.Hour)) // the call is not known that long, its answer is
	if h.keyed("k1", "refund 1").want(http.StatusOK).into(&again); again != first {
		t.Errorf("an hour later: %+v", again)
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

// TestIdempotencyKeyIsRefused where it would not be heeded, or cannot be read.
func TestIdempotencyKeyIsRefused(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	for _, path := range []string{"/api/worker/connect", "/login"} {
		as := tokens.Worker
		if path == "/login" {
			as = "-"
		}
		if p := h.send(ask{method: "POST", path: path, as: as, header: []string{"Idempotency-Key: k"}}).refused(posthouse.CodeInvalid); p.Field != api.KeyHeader {
			t.Errorf("%s: %+v", path, p)
		}
	}
	h.send(ask{method: "GET", path: "/agent/dispatch", header: []string{"Idempotency-Key: k"}}).refused(posthouse.CodeInvalid)
	approve := "/api/gates/" + string(g.ID) + "/approve"
	for _, bad := range []string{strings.Repeat("k", 256), "a b", "ä", "a\tb"} {
		h.keyed(bad, "m").refused(posthouse.CodeInvalid)
		h.send(ask{method: "POST", path: approve, header: []string{"Idempotency-Key: " + bad}}).refused(posthouse.CodeInvalid)
	}
	twice := h.request(ask{method: "POST", path: approve, header: []string{"Idempotency-Key: k"}})
	twice.Header.Add("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, twice)
	if w.Code != http.StatusBadRequest {
		t.Errorf("two keys: %d", w.Code)
	}
	if got, err := h.ledger.Gate(t.Context(), g.ID); err != nil || got.Decision != nil {
		t.Errorf("a refused request decided: %+v, %v", got, err)
	}
}
