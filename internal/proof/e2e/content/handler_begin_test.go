package content_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// handlersPayment is the question of a handler about a transfer, as it travels.
func handlersPayment() *posthouse.Gate {
	return &posthouse.Gate{
		Name: "pay", Kind: posthouse.GateApproval, Text: "Pay?", Payload: []byte(`{"To":"bob","Amount":10}`), Uses: 1, ValidFor: time.Hour,
		Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
	}
}

// use names the payment of a handler under a grant.
func use(grant posthouse.ID) task.Use { return task.Use{Name: "pay", Grant: grant} }

// begins begins the payment by a call of its own.
func (k *desk) begins(c *task.Claim, grant posthouse.ID, call string) (*task.Begun, error) {
	return k.d.Begin(k.Context(), c.ID, task.Beginning{Use: use(grant), Nonce: "0123456789abcdef" + call})
}

// ends ends it with its result.
func (k *desk) ends(c *task.Claim, call string) error {
	return k.d.End(k.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef" + call, Result: &posthouse.Value{Codec: "json", Data: []byte(`"paid"`)}})
}

func (k *desk) gives(c *task.Claim, v task.Verdict) {
	k.Helper()
	if err := k.d.Resolve(k.Context(), c.ID, v); err != nil {
		k.Fatal(err)
	}
}

// claims returns the next task, which there is.
func (k *desk) claims() *task.Claim {
	k.Helper()
	for range 400 { // each waits for one
		if c := must(k.d.Claim(k.Context(), k.session))(k.house); c != nil {
			return c
		}
	}
	k.Fatal("no task")
	return nil
}

// asks has a handler propose its payment in a thread, and returns the question.
func (k *desk) asks(app *flow.App[int, string], thread string) *posthouse.Gate {
	k.Helper()
	must(app.Run(k.Context(), thread, 10, flow.RunOptions{By: "bob"}))(k.house)
	k.gives(k.claims(), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: handlersPayment()}}})
	must(app.Resume(k.Context(), thread))(k.house)
	return k.only(thread)
}

// approved has the payment of a thread approved, and claims the task again.
func (k *desk) approved(app *flow.App[int, string], thread string) (posthouse.ID, *task.Claim) {
	k.Helper()
	q := k.asks(app, thread)
	k.decide(q.ID, posthouse.Approve, "alice")
	must(app.Resume(k.Context(), thread))(k.house)
	return q.ID, k.claims()
}

// onDesks runs a test with a program that hands its payment out, and a worker by hand.
func onDesks(t *testing.T, test func(k *desk, app *flow.App[int, string])) {
	onStores(t, func(h *house) {
		h.grants = true
		h.restart()
		k := h.desk()
		defer k.stop()
		test(k, handsOut(h))
	})
}

// TestAttemptToBeginWithoutAGrantOfTheTask: a worker begins no effect under a grant that its own
// task's handler has not proposed, that is not decided, refused, or licenses nothing.
func TestAttemptToBeginWithoutAGrantOfTheTask(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		other, _ := k.approved(app, "other")
		program := must(flow.New("own", func(ctx context.Context, _ int) (string, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", 10})
			return string(grant), err
		}).Open(h.ledger, nil))(h)
		must(program.Run(h.Context(), "program", 1))(h)
		own := h.only("program").ID
		h.decide(own, posthouse.Approve, "alice")

		must(app.Run(h.Context(), "t", 10))(h)
		ask := posthouse.Gate{Name: "ask", Kind: posthouse.GateApproval, Text: "Ship?"}
		again := handlersPayment()
		again.Name, again.Text = "refused", "Pay again?"
		k.gives(k.claims(), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &ask}, {Question: handlersPayment()}, {Question: again}}})
		must(app.Resume(h.Context(), "t"))(h)
		ids := map[string]posthouse.ID{}
		for _, q := range h.inbox("t") {
			ids[q.Name] = q.ID
			verdict := posthouse.Approve
			if strings.HasSuffix(q.Name, "refused") {
				verdict = posthouse.Reject
			}
			h.decide(q.ID, verdict, "alice")
		}
		must(app.Resume(h.Context(), "t"))(h)
		c := k.claims()
		for what, grant := range map[string]posthouse.ID{
			"of another thread": other, "of a program": own, "of gate.Ask": ids["task:pay>ask"], "refused": ids["task:pay>refused"], "of nobody": "gate-x", "the task's own gate": c.ID.Gate,
		} {
			if _, err := k.begins(c, grant, ""); !errors.Is(err, posthouse.ErrForbidden) {
				h.Errorf("a grant %s: %v", what, err)
			}
			err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Await, Waits: []task.Wait{{Act: &task.Use{Name: "pay", Grant: grant}}}})
			if !errors.Is(err, posthouse.ErrForbidden) {
				h.Errorf("a wait for an effect under a grant %s: %v", what, err)
			}
		}
		if b, err := k.begins(c, ids["task:pay>pay"], ""); err != nil || !b.Begins || string(b.Gate.Licensed()) != `{"To":"bob","Amount":10}` || b.Key == "" {
			h.Errorf("its own: %+v, %v", b, err)
		}
		h.verified()
	})
}

// TestAttemptToBeginTwice: an effect begins once for a claim and a call. Another call, effect,
// claim or session does not begin it, nor end it, and what it ended with stays.
func TestAttemptToBeginTwice(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		if err := k.ends(c, "1"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("an end without a beginning: %v", err)
		}
		first := must(k.begins(c, grant, "1"))(h)
		again := must(k.begins(c, grant, "1"))(h) // the answer was lost
		if !first.Begins || !again.Begins || first.Key != again.Key {
			h.Errorf("first %+v, again %+v", first, again)
		}
		g := h.grantIs(grant, grants.Released)
		if len(g.Uses) != 1 || len(g.Uses[0].Attempts) != 1 || g.Uses[0].Failed != 0 {
			h.Errorf("g.Uses %+v", g.Uses)
		}
		if _, err := k.begins(c, grant, "2"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("another call: %v", err)
		}
		for _, u := range []task.Use{{Name: "pay", Occurrence: 1, Grant: grant}, {Name: "more", Grant: grant}} {
			if _, err := k.d.Begin(h.Context(), c.ID, task.Beginning{Use: u, Nonce: "0123456789abcdef"}); !errors.Is(err, posthouse.ErrForbidden) {
				h.Errorf("another effect, %+v: %v", u, err)
			}
		}
		foreign, stale := c.ID, c.ID
		foreign.Session, stale.Fence = must(k.d.Connect(h.Context(), task.Hello{Protocol: task.Protocol, Worker: "w3", Tasks: []string{"pay"}, Concurrency: 1}))(h).ID, c.ID.Fence-1
		for what, id := range map[string]task.ClaimID{"a foreign claim": foreign, "a stale one": stale} {
			if _, err := k.begins(&task.Claim{ID: id}, grant, "1"); !errors.Is(err, posthouse.ErrConflict) {
				h.Errorf("%s: %v", what, err)
			}
			if err := k.ends(&task.Claim{ID: id}, "1"); !errors.Is(err, posthouse.ErrConflict) {
				h.Errorf("%s: %v", what, err)
			}
		}
		step := task.StepResult{Name: "task:pay>pay", Value: posthouse.Value{Codec: "json", Data: []byte(`"forged"`)}}
		if err := k.d.Record(h.Context(), c.ID, step); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("a step of that name: %v", err)
		}
		if err := k.ends(c, "2"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("the end of another call: %v", err)
		}
		for range 2 {
			if err := k.ends(c, "1"); err != nil {
				h.Error(err)
			}
		}
		if err := k.d.End(h.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef1", Failed: "it did not"}); !errors.Is(err, posthouse.ErrExists) {
			h.Errorf("another end: %v", err)
		}
		if b := must(k.begins(c, grant, "3"))(h); b.Begins || b.Result == nil || string(b.Result.Data) != `"paid"` {
			h.Errorf("%+v", b)
		}
		h.grantIs(grant, grants.Executed)
		k.gives(c, task.Verdict{Action: task.Complete, Output: []byte(`"done"`)})
		if _, err := k.begins(c, grant, "1"); !errors.Is(err, posthouse.ErrConflict) {
			h.Errorf("after the verdict: %v", err)
		}
		h.verified()
	})
}

// TestAttemptWithAMalformedBeginning: what does not fit names the field, and nothing begins.
func TestAttemptWithAMalformedBeginning(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		good := task.Beginning{Use: use(grant), Nonce: "0123456789abcdef"}
		value := &posthouse.Value{Codec: "json", Data: []byte("1")}
		for field, set := range map[string]func(b *task.Beginning){
			"effect": func(b *task.Beginning) { b.Use.Name = "pay>$use" }, "step": func(b *task.Beginning) { b.Use.Name = "pay[1]" },
			"grant": func(b *task.Beginning) { b.Use.Grant = "" }, "nonce": func(b *task.Beginning) { b.Nonce = "short" },
			"schema": func(b *task.Beginning) { b.Use.Schema = []byte(`{"a":1,"a":2}`) }, "why": func(b *task.Beginning) { b.Use.Why = "x" },
			"refused": func(b *task.Beginning) { b.Use.Refused, b.Use.Why = "\x00", "x" }, "passed": func(b *task.Beginning) { b.Passed = "\x00" },
			"found":   func(b *task.Beginning) { b.Found = &task.Found{Attempt: 1} },
			"attempt": func(b *task.Beginning) { b.Reconciles, b.Found = true, &task.Found{} },
			"result":  func(b *task.Beginning) { b.Reconciles, b.Found = true, &task.Found{Attempt: 1, Result: value} },
		} {
			b := good
			set(&b)
			var e *posthouse.Error
			if _, err := k.d.Begin(h.Context(), c.ID, b); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
				h.Errorf("%s: %v", field, err)
			}
		}
		must(k.d.Begin(h.Context(), c.ID, good))(h)
		big := &posthouse.Value{Codec: "json", Data: []byte(`"` + strings.Repeat("x", task.MaxStep) + `"`)}
		for what, n := range map[string]struct {
			end  task.Ending
			want error
		}{
			"both":      {task.Ending{Name: "pay", Nonce: good.Nonce, Result: value, Failed: "x"}, posthouse.ErrInvalid},
			"neither":   {task.Ending{Name: "pay", Nonce: good.Nonce}, posthouse.ErrInvalid},
			"its word":  {task.Ending{Name: "pay", Nonce: good.Nonce, NotDone: true}, posthouse.ErrInvalid},
			"too large": {task.Ending{Name: "pay", Nonce: good.Nonce, Result: big}, posthouse.ErrTooLarge},
		} {
			if err := k.d.End(h.Context(), c.ID, n.end); !errors.Is(err, n.want) {
				h.Errorf("%s: %v", what, err)
			}
		}
		h.grantIs(grant, grants.Released)
	})
}

// lose ends a claim in one of the ways in which a worker loses its task.
var lose = map[string]func(k *desk, c *task.Claim){
	"fail": func(k *desk, c *task.Claim) {
		k.gives(c, task.Verdict{Action: task.Fail, Reason: "no"})
		k.now = k.now.Add(time.Second) // beyond the backoff
	},
	"stop": func(k *desk, c *task.Claim) {
		if err := k.d.Disconnect(k.Context(), k.session); err != nil {
			k.Fatal(err)
		}
		k.connect()
	},
}

// TestHandlerLostAroundItsEffect: an attempt that was lost before it began begins as the first. One
// that was lost after its end has its result. In between its outcome is unknown: people are asked,
// and no other attempt begins before they have said what became of it.
func TestHandlerLostAroundItsEffect(t *testing.T) {
	for way, lost := range lose {
		t.Run(way, func(t *testing.T) {
			onDesks(t, func(k *desk, app *flow.App[int, string]) {
				h := k.house
				grant, c := k.approved(app, "before")
				lost(k, c)
				if b := must(k.begins(k.claims(), grant, "1"))(h); !b.Begins {
					h.Errorf("%+v", b)
				}

				grant, c = k.approved(app, "behind")
				must(k.begins(c, grant, "1"))(h)
				if err := k.ends(c, "1"); err != nil {
					h.Fatal(err)
				}
				lost(k, c)
				c = k.claimsOf("behind")
				if b := must(k.begins(c, grant, "2"))(h); b.Begins || b.Result == nil {
					h.Errorf("%+v", b)
				}
				k.gives(c, task.Verdict{Action: task.Complete, Output: []byte(`"x"`)})
			})
		})
		for _, said := range []posthouse.Verdict{posthouse.Redo, posthouse.Happened, posthouse.GiveUp} {
			t.Run(way+" between, "+string(said), func(t *testing.T) {
				onDesks(t, func(k *desk, app *flow.App[int, string]) { k.resolvesOutcome(app, lost, said) })
			})
		}
	}
}

// claimsOf claims the task of a thread.
func (k *desk) claimsOf(thread string) *task.Claim {
	k.Helper()
	for {
		if c := k.claims(); c.Thread == thread {
			return c
		}
	}
}

// resolvesOutcome loses an attempt between its beginning and its end, and has people say what came of it.
func (k *desk) resolvesOutcome(app *flow.App[int, string], lost func(*desk, *task.Claim), said posthouse.Verdict) {
	h := k.house
	grant, c := k.approved(app, "t")
	first := must(k.begins(c, grant, "1"))(h)
	lost(k, c)
	if asked := h.only("t"); asked.Kind != gate.KindOutcome { // immediately, before a worker or the program runs again
		h.Fatal("nobody is asked")
	}
	c = k.claims()
	for range 2 {
		if b := must(k.begins(c, grant, "2"))(h); b.Begins || !b.Waits {
			h.Fatalf("%+v", b)
		}
	}
	u := use(grant)
	u.Schema = []byte(`{"type":"string"}`)
	k.gives(c, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: handlersPayment()}, {Act: &u}}})
	h.grantIs(grant, grants.Unknown)
	must(app.Resume(h.Context(), "t"))(h)
	q := h.only("t")
	if q.Kind != gate.KindOutcome || string(q.Payload) != `{"To":"bob","Amount":10}` || q.RequestedBy != "bob" {
		h.Fatalf("%+v", q)
	}
	d := posthouse.Decision{Verdict: said, By: "alice"}
	if said == posthouse.Happened {
		d.Value = []byte(`"it was paid"`)
	}
	must(h.ledger.Decide(h.Context(), q.ID, d))(h)
	must(app.Resume(h.Context(), "t"))(h)
	c = k.claims()
	b, err := k.d.Begin(h.Context(), c.ID, task.Beginning{Use: u, Nonce: "0123456789abcdef3"})
	switch said {
	case posthouse.Redo:
		if err != nil || !b.Begins || b.Key != first.Key {
			h.Fatalf("%+v, %v", b, err)
		}
		if err := k.ends(c, "3"); err != nil {
			h.Error(err)
		}
	case posthouse.Happened:
		if err != nil || b.Begins || b.Result == nil || string(b.Result.Data) != `"it was paid"` {
			h.Fatalf("%+v, %v", b, err)
		}
	default:
		if !errors.Is(err, posthouse.ErrForbidden) {
			h.Fatalf("%+v, %v", b, err)
		}
		h.grantIs(grant, grants.Unknown)
		return
	}
	if g := h.grantIs(grant, grants.Executed); len(g.Uses) != 1 {
		h.Errorf("g.Uses %+v", g.Uses)
	}
	k.gives(c, task.Verdict{Action: task.Complete, Output: []byte(`"x"`)})
	h.verified()
}

// TestHandlerBeginsAgain: an idempotent effect that was lost begins again under its key, also under
// the decision that was asked for again; one that said that it did not act begins again, too.
func TestHandlerBeginsAgain(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		u := use(grant)
		u.Idempotent = true
		begin := func(c *task.Claim, call string) *task.Begun {
			h.Helper()
			return must(k.d.Begin(h.Context(), c.ID, task.Beginning{Use: u, Nonce: "0123456789abcdef" + call}))(h)
		}
		first := begin(c, "1")
		if err := k.d.End(h.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef1", Failed: "the bank is shut", NotDone: true}); err != nil {
			h.Fatal(err)
		}
		if g := h.grantIs(grant, grants.Decided); g.Uses[0].Failed != 1 || !g.Uses[0].Attempts[0].Undone {
			h.Errorf("g.Uses %+v", g.Uses)
		}
		second := begin(c, "2")
		lose["fail"](k, c)
		c = k.claims()
		h.now = h.now.Add(2 * time.Hour) // beyond ValidFor
		if b := begin(c, "3"); b.Begins || !b.Waits {
			h.Fatalf("beyond its validity: %+v", b)
		}
		k.gives(c, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: handlersPayment()}, {Act: &u}}})
		must(app.Resume(h.Context(), "t"))(h)
		q := h.only("t")
		if q.Supersedes != grant || q.Kind == gate.KindOutcome || !slices.Equal(q.Verdicts, []posthouse.Verdict{posthouse.Approve, posthouse.Reject}) || !strings.Contains(q.Note, "was good until") {
			h.Fatalf("%+v", q)
		}
		h.decide(q.ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		c = k.claims()
		third := begin(c, "4")
		if !third.Begins || third.Gate.ID != q.ID || first.Key != second.Key || second.Key != third.Key {
			h.Errorf("first %+v, second %+v, third %+v", first, second, third)
		}
		if err := k.d.End(h.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef4", Failed: "the bank is shut", NotDone: true}); err != nil {
			h.Fatal(err)
		}
		h.grantIs(grant, grants.Unknown) // that it did not act this time says nothing of the time before
		if err := k.ends(c, "4"); err != nil {
			h.Error(err)
		}
		h.verified()
	})
}

// TestHandlersEffectOfAnEndedTask: a task that is cancelled or fails for good in the middle of its
// handler's effect leaves the outcome unknown.
func TestHandlersEffectOfAnEndedTask(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		for thread, end := range map[string]func(c *task.Claim){
			"failed": func(c *task.Claim) { k.gives(c, task.Verdict{Action: task.FailPermanent, Reason: "no"}) },
			"cancelled": func(*task.Claim) {
				must(h.ledger.Cancel(h.Context(), "cancelled", &ledger.CancelOptions{}))(h)
			},
			"complete": func(c *task.Claim) { k.gives(c, task.Verdict{Action: task.Complete, Output: []byte(`"x"`)}) },
		} {
			grant, c := k.approved(app, thread)
			must(k.begins(c, grant, "1"))(h)
			h.grantIs(grant, grants.Released)
			end(c)
			h.grantIs(grant, grants.Unknown)
			if err := k.ends(c, "1"); !errors.Is(err, posthouse.ErrConflict) {
				h.Errorf("%s: an end after that: %v", thread, err)
			}
		}
	})
}

// TestHandlersErrorIsUnknown ends an effect with an error and no word that nothing happened: the next
// attempt does not begin it, and asks people.
func TestHandlersErrorIsUnknown(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		must(k.begins(c, grant, "1"))(h)
		if err := k.d.End(h.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef1", Failed: "EOF"}); err != nil {
			h.Fatal(err)
		}
		lose["fail"](k, c)
		h.grantIs(grant, grants.Unknown)
		next := k.claim()
		if b := must(k.begins(next, grant, "2"))(h); b.Begins || !b.Waits {
			h.Errorf("it began again: %+v", b)
		}
	})
}
