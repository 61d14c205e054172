package dispatch_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/task"
)

// eachVerb calls every verb about a task with a claim.
func (h *host) eachVerb(id task.ClaimID, thread string) map[string]error {
	ctx := h.Context()
	_, load := h.d.Load(ctx, id)
	_, records := h.d.Records(ctx, id, "")
	return map[string]error{
		"load": load, "records": records,
		"save":      h.d.Save(ctx, id, 0, []byte("forged")),
		"stream":    h.d.Stream(ctx, id, json.RawMessage("1")),
		"signal":    h.d.Signal(ctx, id, thread, posthouse.Signal{Name: "x", Value: json.RawMessage("1")}),
		"record":    h.d.Record(ctx, id, task.StepResult{Name: "x>y"}),
		"interrupt": h.d.Resolve(ctx, id, task.Verdict{Action: task.Abandon}),
		"complete":  h.d.Resolve(ctx, id, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"forged"`)}),
	}
}

// TestAClaimIsGoodForItsSessionOnly: a worker that gave a task back knows the gate, and can
// count the fence of the worker that has it now. Its calls do not count, at the engine that
// gave the claim and at another.
func TestAClaimIsGoodForItsSessionOnly(t *testing.T) {
	for _, store := range stores(t) {
		synctest.Test(t, func(t *testing.T) {
			opened := store.open(t)
			a, b := newHost(t, opened, runs.RemoteOptions{}), newHost(t, opened, runs.RemoteOptions{})
			former, holder := a.connect("former"), ""
			a.run("t")
			old := a.claim(former)
			if err := a.d.Resolve(t.Context(), old.ID, task.Verdict{Action: task.Abandon}); err != nil {
				t.Fatal(err)
			}
			a.have[former] = nil
			if err := a.d.Disconnect(t.Context(), former); err != nil {
				t.Fatal(err)
			}
			former, holder = "", a.connect("holder")
			now := a.claim(holder)
			former = a.connect("former")
			forged := old.ID
			forged.Fence = now.ID.Fence
			unsaid := task.ClaimID{Gate: now.ID.Gate, Fence: now.ID.Fence}
			for what, id := range map[string]task.ClaimID{"with the session that ended": forged, "without a session": unsaid} {
				for _, h := range []*host{a, b} {
					h.T = t
					for verb, err := range h.eachVerb(id, "t") {
						if !errors.Is(err, posthouse.ErrConflict) {
							t.Errorf("%s: %s of another's claim %s: %v", store.name, verb, what, err)
						}
					}
				}
			}
			if p, err := a.d.Heartbeat(t.Context(), former, []task.ClaimID{forged}); err != nil || len(p.Lost) != 1 {
				t.Errorf("%s: a heartbeat with another's claim: %+v, %v", store.name, p, err)
			}
			a.resolve(now, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
			a.wantOutput("t", "page")
			g, err := a.l.Gate(t.Context(), now.ID.Gate)
			if err != nil || g.Decision == nil || g.Decision.By != "worker:holder" {
				t.Errorf("Gate: %s: %+v, error %v", store.name, g, err)
			}
		})
	}
}

// TestAWorkerSignalsAsItself, and only threads of tasks that it has.
func TestAWorkerSignalsAsItself(t *testing.T) {
	for _, store := range stores(t) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, store.open(t), runs.RemoteOptions{})
			w := h.connectFor("w1", 2)
			h.run("mine")
			c := h.claim(w)
			if _, err := h.l.Signal(t.Context(), "other", posthouse.Signal{Name: "x", Value: json.RawMessage("0"), Early: true}); err != nil {
				t.Fatal(err)
			}
			for field, s := range map[string]posthouse.Signal{
				"by": {By: "ceo"}, "at": {At: time.Unix(1, 0)}, "seq": {Seq: 1}, "gates": {Gates: []posthouse.ID{"gate-x"}}, "thread": {Thread: "other"},
			} {
				s.Name, s.Value = "approved", json.RawMessage("true")
				var e *posthouse.Error
				if err := h.d.Signal(t.Context(), c.ID, "mine", s); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
					t.Errorf("%s: a signal that says its %s: %v", store.name, field, err)
				}
			}
			s := posthouse.Signal{ID: "signal-1", Name: "approved", Value: json.RawMessage("true")}
			if err := h.d.Signal(t.Context(), c.ID, "other", s); !errors.Is(err, posthouse.ErrForbidden) {
				t.Errorf("%s: a signal to a thread without a task of the worker: %v", store.name, err)
			}
			h.run("second")
			h.claim(w)
			for _, thread := range []string{"mine", "second"} {
				s.ID = posthouse.ID("signal-" + thread)
				if err := h.d.Signal(t.Context(), c.ID, thread, s); err != nil {
					t.Errorf("%s: %v", store.name, err)
				}
				var by []string
				for e, err := range h.l.Log(t.Context(), thread, posthouse.Range{}) {
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range e.Records {
						if r.Signal != nil {
							by = append(by, r.Signal.By)
						}
					}
				}
				if len(by) != 1 || by[0] != "worker:w1" {
					t.Errorf("%s: thread %s has signals of %q", store.name, thread, by)
				}
			}
		})
	}
}

// TestQuestionsThatWorkersMayNotAsk: only the engine says who requested it, who changed it, why it
// is asked, and which gate it replaces.
func TestQuestionsThatWorkersMayNotAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, stores(t)[0].open(t), runs.RemoteOptions{})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		for field, set := range map[string]func(*posthouse.Gate){
			"requestedBy":    func(g *posthouse.Gate) { g.RequestedBy = "bob" },
			"requesters":     func(g *posthouse.Gate) { g.Requesters = []posthouse.Requester{{Name: "carol", How: "update"}} },
			"note":           func(g *posthouse.Gate) { g.Note = "asked again: the approval by ceo was good until noon" },
			"allowRequester": func(g *posthouse.Gate) { g.AllowRequest = true },
			"supersedes":     func(g *posthouse.Gate) { g.Supersedes = "gate-x" },
			"origin":         func(g *posthouse.Gate) { g.Origin = "gate-x" },
			"id":             func(g *posthouse.Gate) { g.ID = "gate-x" },
			"thread":         func(g *posthouse.Gate) { g.Thread = "other" },
			"task":           func(g *posthouse.Gate) { g.Task = "other" },
			"payload":        func(g *posthouse.Gate) { g.Uses = 1 },
			"verdicts":       func(g *posthouse.Gate) { g.Uses, g.Payload = 1, []byte("1") },
			"bind":           func(g *posthouse.Gate) { g.Uses, g.Payload, g.Bind = 1, []byte("1"), posthouse.ByName },
			"uses":           func(g *posthouse.Gate) { g.ValidFor = time.Hour },
			"instance":       func(g *posthouse.Gate) { g.Instance = "x" },
			"createdAt":      func(g *posthouse.Gate) { g.CreatedAt = time.Unix(1, 0) },
			"votes":          func(g *posthouse.Gate) { g.Votes = []posthouse.Decision{{By: "ceo"}} },
			"assignments":    func(g *posthouse.Gate) { g.Assignments = []posthouse.Assignment{{By: "ceo"}} },
			"decision":       func(g *posthouse.Gate) { g.Decision = &posthouse.Decision{By: "ceo"} },
			"call":           func(g *posthouse.Gate) { g.Call = &posthouse.TaskCall{} },
		} {
			g := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: "Ship it?"}
			set(&g)
			var e *posthouse.Error
			err := h.d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &g}}})
			if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
				t.Errorf("a question that says its %s: %v", field, err)
			}
		}
		h.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		h.wantOutput("t", "page")
	})
}
