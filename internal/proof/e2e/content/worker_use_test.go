package content_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/transfer"
)

// paysAtWorker proposes a transfer and has a worker make it.
func paysAtWorker(h *house) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
			return step.Remote[string](ctx, "pay", "pay", t)
		})
	}).Open(h.ledger, nil))(h)
}

// A desk is an engine with one worker's session.
type desk struct {
	*house
	d       *dispatch.Dispatcher
	session string
	stop    func()
}

func (h *house) desk() *desk {
	wait := 50 * time.Millisecond
	if h.clock != nil {
		wait = 10 * time.Second
	}
	d := must(dispatch.New(h.ledger, &dispatch.Options{Wait: wait}))(h)
	ctx, cancel := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	k := &desk{house: h, d: d, stop: func() { cancel(); <-ended }}
	k.connect()
	return k
}

func (k *desk) connect() {
	s := must(k.d.Connect(k.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"pay"}, Concurrency: 5}))(k.house)
	k.session = s.ID
}

// claim returns the next task, nil if there is no task.
func (k *desk) claim() *task.Claim {
	k.Helper()
	for range 5 {
		if c := must(k.d.Claim(k.Context(), k.session))(k.house); c != nil {
			return c
		}
	}
	return nil
}

// approvedAtWorker begins a payment and approves it. A task of it is open then.
func approvedAtWorker(h *house, app *flow.App[int, string]) (grant, head posthouse.ID) {
	h.Helper()
	must(app.Run(h.Context(), "t", 10))(h)
	grant = h.only("t").ID
	h.decide(grant, posthouse.Approve, "alice")
	res := must(app.Resume(h.Context(), "t"))(h)
	if res.Status != posthouse.StatusWaiting {
		h.Fatal(res.Status)
	}
	return grant, res.Checkpoint
}

func (h *house) grantIs(grant posthouse.ID, want grants.Status) *grants.Grant {
	h.Helper()
	g := must(ledger.ReadGrant(h.Context(), h.ledger, grant))(h)
	if g.Status != want {
		h.Errorf("the grant is %s, not %s: %+v", g.Status, want, g.Uses)
	}
	return g
}

func TestAttemptToForkWhatAWorkerDoes(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		k := h.desk()
		defer k.stop()
		grant, head := approvedAtWorker(h, app)
		h.grantIs(grant, grants.Released)
		c := k.claim()
		if c == nil || c.Key == "" || c.Grant != grant {
			h.Fatalf("%+v", c)
		}
		branch := must(h.ledger.Fork(h.Context(), head, nil))(h)
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Thread: "away"}))(h)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		if branch.Status != posthouse.StatusInterrupted {
			h.Errorf("the fork is %s", branch.Status)
		}
		if other := k.claim(); other != nil {
			h.Errorf("thread %s has a task on the same approval", other.Thread)
		}
		if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
			h.Fatal(err)
		}
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
			h.Errorf("result %+v", res)
		}
		done := h.grantIs(grant, grants.Executed)
		if len(done.Uses) != 1 || len(done.Uses[0].Attempts) != 1 || done.Uses[0].Attempts[0].Worker != "worker:w1" {
			h.Errorf("done.Uses %+v", done.Uses)
		}
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Branch: "late"}))(h) // once it is done, too
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: branch.Branch}))(h)
		must(app.Resume(h.Context(), "away"))(h)
		if other := k.claim(); other != nil {
			h.Errorf("a fork has a task on the same approval: %+v", other)
		}
		again := h.only("t") // the fork asks
		h.decide(again.ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: branch.Branch}))(h)
		if second := k.claim(); second == nil || second.Key == c.Key || second.Grant != again.ID {
			h.Errorf("%+v, the first had key %s", second, c.Key)
		}
	})
}

func TestCancelWhileAWorkerActs(t *testing.T) {
	for name, claimed := range map[string]bool{"claimed": true, "not claimed": false} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := paysAtWorker(h)
				k := h.desk()
				defer k.stop()
				grant, _ := approvedAtWorker(h, app)
				if claimed && k.claim() == nil {
					h.Fatal("no task")
				}
				must(h.ledger.Cancel(h.Context(), "t", nil))(h)
				want := grants.Decided
				if claimed {
					want = grants.Unknown
				}
				h.grantIs(grant, want)
			})
		})
	}
}

func TestAWorkerStopsInTheEffect(t *testing.T) {
	for name, verdict := range map[string]task.Verdict{
		"stopped": {Action: task.Abandon}, "cannot tell": {Action: task.Unknown, Reason: "the line broke"},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := paysAtWorker(h)
				k := h.desk()
				defer k.stop()
				grant, _ := approvedAtWorker(h, app)
				c := k.claim()
				if err := k.d.Resolve(h.Context(), c.ID, verdict); err != nil {
					h.Fatal(err)
				}
				if again := k.claim(); again != nil {
					h.Fatalf("attempt %d", again.Attempt)
				}
				if _, err := ledger.RetryTask(h.Context(), h.ledger, c.ID.Gate, nil); !errors.Is(err, posthouse.ErrConflict) {
					h.Errorf("retried: %v", err)
				}
				if res := must(app.Resume(h.Context(), "t"))(h); res.Status != posthouse.StatusWaiting {
					h.Fatalf("result %+v", res)
				}
				h.grantIs(grant, grants.Unknown)
				q := h.only("t")
				if q.Kind != gate.KindOutcome {
					h.Fatalf("%+v", q)
				}
				h.decide(q.ID, posthouse.Redo, "alice") // it did not happen
				must(app.Resume(h.Context(), "t"))(h)
				second := k.claim()
				if second == nil || second.Key != c.Key {
					h.Fatalf("second %+v", second)
				}
				if err := k.d.Resolve(h.Context(), second.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
					h.Fatal(err)
				}
				if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
					h.Errorf("result %+v", res)
				}
			})
		})
	}
}

// A worker's verdict that it did not act is its word: another attempt follows, and the key stays.
func TestAWorkerSaysThatItDidNotAct(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		k := h.desk()
		defer k.stop()
		grant, _ := approvedAtWorker(h, app)
		c := k.claim()
		if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.FailPermanent, Reason: "no funds", NotDone: true}); err != nil {
			h.Fatal(err)
		}
		if _, err := app.Resume(h.Context(), "t"); err == nil {
			h.Error("it did not fail")
		}
		h.grantIs(grant, grants.Decided)
		must(ledger.RetryTask(h.Context(), h.ledger, c.ID.Gate, nil))(h)
		h.grantIs(grant, grants.Released)
		second := k.claim()
		if second == nil || second.Key != c.Key {
			h.Fatalf("second %+v", second)
		}
		if err := k.d.Resolve(h.Context(), second.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
			h.Fatal(err)
		}
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
			h.Errorf("result %+v", res)
		}
	})
}

// An error of a worker is no word that nothing happened, and neither is the word of a worker of an
// older protocol, which says it of each error. Nobody gets the task again, and people are asked.
func TestAWorkersErrorIsUnknown(t *testing.T) {
	for name, v := range map[string]task.Verdict{
		"fail":           {Action: task.Fail, Reason: "EOF"},
		"fail-permanent": {Action: task.FailPermanent, Reason: "EOF"},
		"retry-after":    {Action: task.RetryAfter, Reason: "EOF", Delay: time.Second},
	} {
		for protocol, word := range map[int]bool{task.Protocol: false, 2: true} {
			t.Run(fmt.Sprint(name, " of protocol ", protocol), func(t *testing.T) {
				onStores(t, func(h *house) {
					app := paysAtWorker(h)
					k := h.desk()
					defer k.stop()
					k.session = must(k.d.Connect(h.Context(), task.Hello{Protocol: protocol, Worker: "w1", Tasks: []string{"pay"}, Concurrency: 5}))(h).ID
					grant, _ := approvedAtWorker(h, app)
					c := k.claim()
					v := v
					v.NotDone = word
					for range 2 { // its answer may be lost
						if err := k.d.Resolve(h.Context(), c.ID, v); err != nil {
							h.Fatal(err)
						}
					}
					h.now = h.now.Add(time.Minute)
					if again := k.claim(); again != nil {
						h.Fatalf("attempt %d", again.Attempt)
					}
					if res := must(app.Resume(h.Context(), "t"))(h); res.Status != posthouse.StatusWaiting {
						h.Fatalf("result %+v", res)
					}
					h.grantIs(grant, grants.Unknown)
					if q := h.only("t"); q.Kind != gate.KindOutcome {
						h.Fatalf("%+v", q)
					}
				})
			})
		}
	}
}

// An approval that has lapsed by the time a worker comes is asked for again.
func TestAnApprovalLapsesBeforeAWorkerComes(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		grant, _ := approvedAtWorker(h, app)
		h.now = h.now.Add(2 * time.Hour)
		k := h.desk()
		defer k.stop()
		if c := k.claim(); c != nil {
			h.Fatalf("%+v", c)
		}
		h.grantIs(grant, grants.Decided)
		must(app.Resume(h.Context(), "t"))(h)
		q := h.only("t")
		if q.Supersedes != grant {
			h.Fatalf("%+v", q)
		}
		h.decide(q.ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		if c := k.claim(); c == nil || c.Grant != q.ID {
			h.Errorf("%+v", c)
		}
	})
}

// An effect that waits within the function of Act has begun: it is not asked about again,
// and not forgotten.
func TestAnEffectThatWaitsInItsMiddle(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, bankTransfer{"bob", amount})
			if err != nil {
				return "", err
			}
			return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
				receipt, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) { return b.pay(ctx, t) })
				if err != nil {
					return "", err
				}
				return receipt, step.Sleep(ctx, "clear", 25*time.Hour)
			})
		}).Open(h.ledger, nil))(h)
		grant, head := approvedAtWorker(h, app)
		if g := h.grantIs(grant, grants.Released); len(g.Uses) != 1 || g.Uses[0].Failed != 0 {
			h.Errorf("g.Uses %+v", g.Uses)
		}
		f := must(h.ledger.Fork(h.Context(), head, nil))(h)
		h.now = h.now.Add(26 * time.Hour)
		if res := must(app.Resume(h.Context(), "t"))(h); res.Status != posthouse.StatusDone || res.Output != "receipt 1" {
			h.Errorf("result %+v", res)
		}
		b.want(h, bankTransfer{"bob", 10})
		h.grantIs(grant, grants.Executed)
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: f.Branch}))(h)
		if len(h.inbox("t")) != 1 {
			h.Errorf("the fork asks %d questions", len(h.inbox("t")))
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}
