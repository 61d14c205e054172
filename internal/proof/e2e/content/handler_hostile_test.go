package content_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// TestAttemptToBeginOutOfTime: nothing begins once an approval has lapsed, the policy refuses it, or the
// task was cancelled or taken by another session. Nothing of that is on record as begun.
func TestAttemptToBeginOutOfTime(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "refused")
		h.policy = func(g *posthouse.Gate, d *posthouse.Decision) error {
			if d.Verdict == posthouse.Approve {
				return errors.New("alice has left")
			}
			return nil
		}
		if b, err := k.begins(c, grant, "1"); err != nil || b.Begins || !b.Waits {
			h.Errorf("what the policy refuses: %+v, %v", b, err)
		}
		h.policy = nil
		h.grantIs(grant, grants.Decided)
		k.gives(c, task.Verdict{Action: task.FailPermanent, Reason: "no"})

		grant, c = k.approved(app, "cancelled")
		must(h.ledger.Cancel(h.Context(), "cancelled", &ledger.CancelOptions{}))(h)
		if b, err := k.begins(c, grant, "1"); !errors.Is(err, posthouse.ErrConflict) {
			h.Errorf("after the cancel: %+v, %v", b, err)
		}
		h.grantIs(grant, grants.Decided)

		grant, c = k.approved(app, "given back")
		k.gives(c, task.Verdict{Action: task.Abandon})
		second := k.claimsOf("given back")
		if b, err := k.begins(c, grant, "1"); !errors.Is(err, posthouse.ErrConflict) {
			h.Errorf("by who gave it back: %+v, %v", b, err)
		}
		if b, err := k.begins(second, grant, "1"); err != nil || !b.Begins {
			h.Errorf("by who has it: %+v, %v", b, err)
		}
		if err := k.ends(c, "1"); !errors.Is(err, posthouse.ErrConflict) {
			h.Errorf("ended by who gave it back: %v", err)
		}
		k.gives(second, task.Verdict{Action: task.Abandon}) // it has begun: its outcome is unknown
		h.grantIs(grant, grants.Unknown)
		third := k.claimsOf("given back")
		if b, err := k.begins(third, grant, "1"); err != nil || !b.Waits {
			h.Errorf("by who has it after that: %+v, %v", b, err)
		}

		grant, c = k.approved(app, "lapsed")
		h.now = h.now.Add(2 * time.Hour)
		if b, err := k.begins(c, grant, "1"); err != nil || b.Begins || !b.Waits {
			h.Errorf("after its validity: %+v, %v", b, err)
		}
		h.grantIs(grant, grants.Decided)
		h.verified()
	})
}

// TestAttemptToBeginByAnOldCall: a call that comes late, after its attempt ended, begins no other one; an
// effect ends once.
func TestAttemptToBeginByAnOldCall(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		first := must(k.begins(c, grant, "1"))(h)
		fail := func(call string) error {
			return k.d.End(h.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef" + call, Failed: "the bank is shut", NotDone: true})
		}
		for range 2 {
			if err := fail("1"); err != nil {
				h.Error(err)
			}
		}
		if b, err := k.begins(c, grant, "1"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("a call of an attempt that ended: %+v, %v", b, err)
		}
		h.grantIs(grant, grants.Decided)
		second := must(k.begins(c, grant, "2"))(h)
		if b, err := k.begins(c, grant, "1"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("a call of an attempt before this one: %+v, %v", b, err)
		}
		if err := fail("1"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("an end of an attempt before this one: %v", err)
		}
		if !second.Begins || second.Key != first.Key {
			h.Errorf("%+v, the first had key %s", second, first.Key)
		}
		if err := k.ends(c, "2"); err != nil {
			h.Error(err)
		}
		other := task.Ending{Name: "pay", Nonce: "0123456789abcdef2", Result: &posthouse.Value{Codec: "json", Data: []byte(`"other"`)}}
		if err := k.d.End(h.Context(), c.ID, other); !errors.Is(err, posthouse.ErrExists) {
			h.Errorf("another result: %v", err)
		}
		if g := h.grantIs(grant, grants.Executed); string(g.Uses[0].Result.Data) != `"paid"` {
			h.Errorf("g.Uses[0] %+v", g.Uses[0])
		}
		h.verified()
	})
}

// TestAttemptToFillTheLogByAttempts: a claim begins an effect a bounded number of times.
func TestAttemptToFillTheLogByAttempts(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		var err error
		n := 0
		for ; n < 50 && err == nil; n++ {
			call := fmt.Sprint(n)
			_, err = k.begins(c, grant, call)
			if err == nil {
				err = k.d.End(h.Context(), c.ID, task.Ending{Name: "pay", Nonce: "0123456789abcdef" + call, Failed: "no", NotDone: true})
			}
		}
		if !errors.Is(err, posthouse.ErrForbidden) || n > 21 {
			h.Errorf("after %d attempts of one claim: %v", n, err)
		}
		h.grantIs(grant, grants.Decided)
	})
}

// TestRetryOfATaskWhoseHandlerPaid: the retry of a task finds what its handler did, in place where the run has
// failed with the task, and on a fork before that. It pays nothing again under that decision.
func TestRetryOfATaskWhoseHandlerPaid(t *testing.T) {
	for name, onFork := range map[string]bool{"in place": false, "on a fork": true} {
		t.Run(name, func(t *testing.T) {
			onDesks(t, func(k *desk, app *flow.App[int, string]) { k.retries(app, onFork) })
		})
	}
}

func (k *desk) retries(app *flow.App[int, string], onFork bool) {
	h := k.house
	grant, c := k.approved(app, "t")
	must(k.begins(c, grant, "1"))(h)
	if err := k.ends(c, "1"); err != nil {
		h.Fatal(err)
	}
	k.gives(c, task.Verdict{Action: task.FailPermanent, Reason: "after the payment"})
	if !onFork {
		if _, err := app.Resume(h.Context(), "t"); err == nil {
			h.Fatal("it did not fail")
		}
	}
	again := must(ledger.RetryTask(h.Context(), h.ledger, c.ID.Gate, nil))(h)
	if (again.Branch != posthouse.MainBranch) != onFork {
		h.Errorf("it is retried on branch %s", again.Branch)
	}
	second := k.claims()
	if b := must(k.begins(second, grant, "2"))(h); b.Begins || b.Result == nil || string(b.Result.Data) != `"paid"` {
		h.Errorf("the retry: %+v", b)
	}
	u := task.Use{Name: "pay", Occurrence: 1, Grant: grant}
	b, err := k.d.Begin(h.Context(), second.ID, task.Beginning{Use: u, Nonce: "0123456789abcdef3"})
	if onFork && (err != nil || b.Begins || !b.Waits) || !onFork && !errors.Is(err, posthouse.ErrForbidden) {
		h.Errorf("a second effect: %+v, %v", b, err)
	}
	k.gives(second, task.Verdict{Action: task.Complete, Output: []byte(`"done"`)})
	if res := must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: again.Branch}))(h); res.Output != "done" {
		h.Errorf("result %+v", res)
	}
	if _, err := ledger.RetryTask(h.Context(), h.ledger, second.ID.Gate, nil); !errors.Is(err, posthouse.ErrDecided) {
		h.Errorf("a task that is complete: %v", err)
	}
	g := h.grantIs(grant, grants.Executed)
	for i := range g.Uses { // a fork says what it took along
		if u := &g.Uses[i]; i > 0 && u.Branch != again.Branch || i > 1 || len(u.Attempts) != 1 {
			h.Errorf("%+v", u)
		}
	}
	h.verified()
}

// TestAttemptToCarryAnEditElsewhere: a worker says that a question is about what another one was edited to.
// The edit decides only that content, under its own name.
func TestAttemptToCarryAnEditElsewhere(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		for thread, change := range map[string]func(g *posthouse.Gate){
			"honest":       nil,
			"more money":   func(g *posthouse.Gate) { g.Payload = []byte(`{"To":"bob","Amount":1000000}`) },
			"to another":   func(g *posthouse.Gate) { g.Payload = []byte(`{"To":"mallory","Amount":5}`) },
			"other effect": func(g *posthouse.Gate) { g.Name = "mail" },
		} {
			must(app.Run(k.Context(), thread, 10, flow.RunOptions{By: "bob"}))(h)
			first := handlersPayment()
			first.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Edit}
			k.gives(k.claimsOf(thread), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: first}}})
			must(app.Resume(k.Context(), thread))(h)
			asked := k.only(thread)
			must(h.ledger.Decide(h.Context(), asked.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"To":"bob","Amount":5}`)}))(h)
			must(app.Resume(h.Context(), thread))(h)
			q := handlersPayment()
			q.Payload, q.Text = []byte(`{"To":"bob","Amount":5}`), "Pay this, edited?"
			if change != nil {
				change(q)
			}
			k.gives(k.claimsOf(thread), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: q, Edited: asked.ID}}})
			must(app.Resume(h.Context(), thread))(h)
			open := h.inbox(thread)
			if change == nil && len(open) != 0 {
				h.Errorf("%s: people are asked about what alice decided: %+v", thread, open)
			}
			if change != nil && (len(open) != 1 || string(open[0].Payload) != string(q.Payload) || open[0].Decision != nil || open[0].Note == "") {
				h.Errorf("%s: nobody is asked about what alice did not see: %+v", thread, open)
			}
		}
		h.verified()
	})
}
