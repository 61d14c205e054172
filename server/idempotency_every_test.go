package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestEveryPostTakesAKey but the login form and the calls of workers, and says so.
func TestEveryPostTakesAKey(t *testing.T) {
	h := open(t, nil)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Responses  map[string]any
		}
	}
	h.get("/openapi.json").into(&doc)
	keyed := 0
	for _, r := range h.server.routes {
		without := r.Method != "POST" || r.Path == "/login" || r.Path == "/logout" || strings.HasPrefix(r.Path, "/api/worker/") ||
			strings.HasPrefix(r.Path, "/api/channels/") // services send no keys, and channels know repeats by their own means
		if r.TakesKey() == without {
			t.Errorf("%s %s takes a key: %v", r.Method, r.Path, r.TakesKey())
		}
		op := doc.Paths[strings.TrimSuffix(r.Path, "{$}")][strings.ToLower(r.Method)]
		said := false
		for _, p := range op.Parameters {
			said = said || p.In == "header" && p.Name == api.KeyHeader
		}
		if said != r.TakesKey() || (op.Responses["422"] != nil) != said {
			t.Errorf("%s %s: the description has the header: %v, 422: %v", r.Method, r.Path, said, op.Responses["422"])
		}
		if said {
			keyed++
		}
	}
	if keyed < 30 {
		t.Errorf("%d paths take a key", keyed)
	}
}

// another returns a handler of another server over a store, as another process has it, with its own
// Ledger and its own clock.
func (h *testServer) another(store posthouse.Store, now func() time.Time) *testServer {
	h.t.Helper()
	l, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	must.Do(h.t, err)
	b := &testServer{t: h.t, store: h.store, ledger: l, tokens: h.tokens, program: &program{ledger: l}, secrets: h.secrets, log: h.log, http: h.http}
	f := newPack(h.t, l)
	b.server, err = New(Options{Ledger: l, Tokens: h.tokens, Agents: map[string]Agent{"dispatch": b.program}, Runner: b.program, Logger: slog.New(slog.NewJSONHandler(h.log, nil)), Programs: []Program{{Info: *f.Describe(), Starter: f}}, Now: now})
	must.Do(h.t, err)
	h.t.Cleanup(func() {
		must.Do(h.t, b.server.Close(context.Background()))
		must.Do(h.t, l.Close())
	})
	return b
}

// direct sends a request to the server itself, without a connection.
func (h *testServer) direct(a ask) *reply {
	w := httptest.NewRecorder()
	r := h.request(a)
	r.RequestURI = r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	h.server.ServeHTTP(w, r)
	return &reply{h.t, a.method + " " + a.path, w.Code, w.Header(), w.Body.Bytes()}
}

func (r *reply) same(t *testing.T, first *reply) {
	t.Helper()
	if r.status != first.status || string(r.body) != string(first.body) || r.header.Get("ETag") != first.header.Get("ETag") || r.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("%s answered %d, first it was %d\n%s\n%s", r.what, r.status, first.status, r.body, first.body)
	}
	if r.header.Get(api.ReplayedHeader) != "true" {
		t.Errorf("%s does not say that it was sent before", r.what)
	}
}

// TestKeyedRequestIsAnsweredAsTheFirst: with the first answer, to its sender, for its body, also by
// another server and after a restart.
func TestKeyedRequestIsAnsweredAsTheFirst(t *testing.T) {
	h := open(t, nil)
	other := h.another(h.store, time.Now)
	_, g := h.waiting("t1")
	approve := ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", body: `{"reason":"fine"}`, header: []string{"Idempotency-Key: k"}}
	first := h.send(approve).want(http.StatusOK)
	if first.header.Get(api.ReplayedHeader) != "" {
		t.Error("the first answer says that it was sent before")
	}
	h.send(approve).same(t, first)
	other.direct(approve).same(t, first)

	changed := approve
	changed.body = `{"reason":"not fine"}`
	if p := other.direct(changed).refused(problem.CodeKeyReused); p.Field != api.KeyHeader {
		t.Errorf("another body: %+v", p)
	}
	changed.body, changed.path = approve.body, "/api/gates/"+string(g.ID)+"/reject"
	h.send(changed).refused(problem.CodeKeyReused)
	changed = approve
	changed.as = tokens.Approver // another person's key
	h.send(changed).refused(posthouse.CodeDecided)
	changed = approve
	changed.header = []string{"Idempotency-Key: another"}
	h.send(changed).refused(posthouse.CodeDecided)
	if n := h.program.count() + other.program.count(); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestRefusedRequestMayBeCorrected under the same key: nothing was done.
func TestRefusedRequestMayBeCorrected(t *testing.T) {
	h := open(t, nil)
	c, _ := h.waiting("t1")
	fork := ask{method: "POST", path: "/api/checkpoints/" + string(c) + "/fork", body: `{"branch":"\u0000"}`, header: []string{"Idempotency-Key: k"}}
	h.send(fork).refused(posthouse.CodeInvalid)
	h.send(fork).refused(posthouse.CodeInvalid)
	fork.body = `{"branch":"b"}`
	first := h.send(fork).want(http.StatusOK)
	h.send(fork).same(t, first)
	fork.body = `{"branch":"\u0000"}`
	h.send(fork).refused(problem.CodeKeyReused)
}

// TestThousandRequestsWithOneKey at once, to two servers over one store, make one fork. All that
// are not refused because it is under way have the same answer.
func TestThousandRequestsWithOneKey(t *testing.T) {
	h := open(t, nil)
	other := h.another(h.store, time.Now)
	c, _ := h.waiting("t1")
	fork := ask{method: "POST", path: "/api/checkpoints/" + string(c) + "/fork", body: `{}`, header: []string{"Idempotency-Key: k"}}
	var wg sync.WaitGroup
	answers := make([]*reply, 1000)
	for i := range answers {
		wg.Go(func() {
			s := h
			if i%2 == 1 {
				s = other
			}
			answers[i] = s.direct(fork)
		})
	}
	wg.Wait()
	last := h.direct(fork).want(http.StatusOK)
	for _, a := range answers {
		if a.status == http.StatusConflict {
			a.refused(problem.CodeInProgress)
			if a.header.Get("Retry-After") == "" {
				t.Error("a request that is under way says not when to try again")
			}
			continue
		}
		if a.status != last.status || string(a.body) != string(last.body) {
			t.Fatalf("answered %d, and at last %d\n%s\n%s", a.status, last.status, a.body, last.body)
		}
	}
	info, err := h.ledger.Thread(t.Context(), "t1")
	must.Do(t, err)
	if len(info.Branches) != 2 {
		t.Errorf("%d branches, want main and one fork", len(info.Branches))
	}
}

// A stopping store stops a process after an act: nothing that it puts on record of requests arrives
// once a request was begun.
type stoppingStore struct {
	posthouse.Store
	left atomic.Int64 // writes of requests until it stops
}

func (s *stoppingStore) Slot(ctx context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if k.Thread == "$requests" && op.Verb != posthouse.SlotGet && s.left.Add(-1) < 0 {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the process is gone"}
	}
	return s.Store.Slot(ctx, k, op)
}

// lost sends a request to a server that is lost between the act and its answer on record, and then
// to another one: at first it is under way, then it is found on record. It returns the last answer.
func (h *testServer) lost(key string, a ask) *reply {
	h.t.Helper()
	store := &stoppingStore{Store: h.store}
	store.left.Store(1)
	dying := h.another(store, time.Now)
	var later atomic.Int64
	next := h.another(h.store, func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	a.method, a.header = "POST", []string{"Idempotency-Key: " + key}
	first := dying.direct(a)
	if first.status >= 300 {
		h.t.Fatalf("%s: %d %s %s", a.path, first.status, first.body, h.log)
	}
	next.direct(a).refused(problem.CodeInProgress)
	later.Store(int64(31 * time.Second))
	again := next.direct(a)
	if again.status >= 300 || again.header.Get(api.ReplayedHeader) != "true" {
		h.t.Fatalf("%s sent again: %d %s", a.path, again.status, again.body)
	}
	next.direct(a).same(h.t, again)
	if n := dying.program.count() + next.program.count(); n > 1 {
		h.t.Errorf("%s: %d effects", a.path, n)
	}
	return again
}

// TestActIsFoundAfterACrash between the act and its answer: sent again, the request is answered with
// what is on record, and nothing is done twice.
func TestActIsFoundAfterACrash(t *testing.T) {
	h := open(t, nil)
	entries := func(thread string) (n int) {
		t.Helper()
		for _, err := range h.store.Read(t.Context(), thread, posthouse.Range{Headers: true}) {
			must.Do(t, err)
			n++
		}
		return n
	}
	control := h.another(h.store, time.Now)
	control.direct(ask{method: "POST", path: "/api/programs/pack/runs", body: `{"input":{"order":"1"},"id":"control"}`}).want(http.StatusCreated)
	fork, _ := h.waiting("fork")
	anew, _ := h.waiting("anew")
	_, approve := h.waiting("approve")
	_, reject := h.waiting("reject")
	_, withdrawn := h.waiting("again")
	_, err := h.ledger.Withdraw(t.Context(), withdrawn.ID, ledger.Withdrawal{By: "somebody", Operator: true})
	must.Do(t, err)
	h.waiting("cancel")
	h.waiting("release")
	quorum, delegated := h.asked("vote", posthouse.Gate{Name: "q", Quorum: &posthouse.Quorum{Need: 2}}), h.asked("delegate", posthouse.Gate{Name: "d", Assignees: []string{"operator-token"}})
	for _, c := range []struct {
		thread, path, body string
		entries            int // that the act takes
	}{
		{"approve", "/api/gates/" + string(approve.ID) + "/approve", `{"reason":"yes"}`, 2}, // and what follows it
		{"reject", "/api/gates/" + string(reject.ID) + "/reject", `{}`, 2},
		{"vote", "/api/gates/" + string(quorum.ID) + "/approve", `{}`, 1},
		{"delegate", "/api/gates/" + string(delegated.ID) + "/delegate", `{"to":"bob"}`, 1},
		{"fork", "/api/checkpoints/" + string(fork) + "/fork", `{}`, 1},
		{"anew", "/api/checkpoints/" + string(anew) + "/anew", ``, 1},
		{"again", "/api/gates/" + string(withdrawn.ID) + "/ask-again", ``, 1},
		{"cancel", "/api/threads/cancel/cancel", `{}`, 1},
		{"release", "/api/threads/release/releases", `{"tags":["v1"]}`, 1},
		{"fork", "/api/checkpoints/" + string(fork) + "/replay", `{}`, 1},
		{"started", "/api/programs/pack/runs", `{"input":{"order":"1"},"id":"started"}`, entries("control")},
	} {
		before := entries(c.thread)
		h.lost("key-of-"+c.path[5:], ask{path: c.path, body: c.body})
		if n := entries(c.thread) - before; n != c.entries {
			t.Errorf("%s took %d entries, want %d", c.path, n, c.entries)
		}
	}
	var run struct{ Thread string }
	h.lost("nameless", ask{path: "/api/programs/pack/runs", body: `{"input":{"order":"1"}}`}).into(&run)
	if n := entries(run.Thread); n != entries("control") {
		t.Errorf("a run without a name took %d entries", n)
	}
	for info, err := range h.ledger.Threads(t.Context(), posthouse.ThreadQuery{}) {
		must.Do(t, err)
		if posthouse.ID(info.Thread).Validate() == nil && strings.Count(info.Thread, "-") == 4 && info.Thread != run.Thread {
			t.Errorf("one more run was begun: %s", info.Thread)
		}
	}
}

// asked opens a question on a thread.
func (h *testServer) asked(thread string, g posthouse.Gate) *posthouse.Gate {
	h.t.Helper()
	g.Payload = json.RawMessage(`{}`)
	done, err := h.ledger.Commit(h.t.Context(), &ledger.Draft{
		Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch", Next: []string{"approver"}}, Gates: []posthouse.Gate{g},
	})
	must.Do(h.t, err)
	return &done.Gates[0]
}
