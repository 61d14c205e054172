package content_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// once runs a flow that proposes 10 for bob and then does what is attempted, has
// the proposal approved, and returns what came of it.
func once(h *house, thread string, then func(ctx context.Context, grant gate.Grant) (string, error)) (string, error) {
	h.Helper()
	app := flowOf(h, func(ctx context.Context) (string, error) {
		grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
		if err != nil {
			return "", err
		}
		return then(ctx, grant)
	})
	must(app.Run(h.Context(), thread, 0))(h)
	h.decide(h.only(thread).ID, posthouse.Approve, "alice")
	r, err := app.Resume(h.Context(), thread)
	if err != nil {
		return "", err
	}
	return r.Output, nil
}

// One approval licenses one effect, however the second one is named and wherever
// in the program it stands.
func TestAttemptTwoEffectsOnOneApproval(t *testing.T) {
	twiceOf := func(first, second func(ctx context.Context, b *bank, g gate.Grant) error) func(context.Context, *bank, gate.Grant) error {
		return func(ctx context.Context, b *bank, g gate.Grant) error {
			if err := first(ctx, b, g); err != nil {
				return err
			}
			return second(ctx, b, g)
		}
	}
	act := func(name string) func(context.Context, *bank, gate.Grant) error {
		return func(ctx context.Context, b *bank, g gate.Grant) error {
			_, err := gate.Act(ctx, name, g, b.pay, gate.ActOptions[bankTransfer, string]{Idempotent: true})
			return err
		}
	}
	within := func(outer, name string) func(context.Context, *bank, gate.Grant) error {
		return func(ctx context.Context, b *bank, g gate.Grant) error {
			_, err := step.Do(ctx, outer, func(ctx context.Context) (int, error) { return 0, act(name)(ctx, b, g) })
			return err
		}
	}
	plain := func(name string) func(context.Context, *bank, gate.Grant) error {
		return func(ctx context.Context, _ *bank, _ gate.Grant) error {
			_, err := step.Do(ctx, name, func(context.Context) (int, error) { return 0, nil })
			return err
		}
	}
	onStores(t, func(h *house) {
		for name, effects := range map[string]func(context.Context, *bank, gate.Grant) error{
			"two names":            twiceOf(act("pay"), act("pay again")),
			"one name":             twiceOf(act("pay"), act("pay")),
			"within a step":        twiceOf(act("pay"), within("outer", "pay")),
			"within two steps":     twiceOf(within("outer", "pay"), within("outer", "pay")),
			"a name like a number": twiceOf(twiceOf(plain("pay"), act("pay")), act("pay[1]")),
			"a number like a name": twiceOf(act("pay[1]"), twiceOf(plain("pay"), act("pay"))),
			"a step like a number": twiceOf(twiceOf(plain("outer"), within("outer", "pay")), within("outer[1]", "pay")),
		} {
			b := &bank{}
			_, err := once(h, strings.ReplaceAll(name, " ", "-"), func(ctx context.Context, g gate.Grant) (string, error) { return "", effects(ctx, b, g) })
			if !errors.Is(err, posthouse.ErrForbidden) && !errors.Is(err, posthouse.ErrInvalid) || len(b.paid) > 1 {
				h.Errorf("%s paid %v: %v", name, b.paid, err)
			}
		}
	})
}

// As many effects as Uses says run, also where the program dies in between.
func TestAttemptMoreEffectsThanUses(t *testing.T) {
	onStores(t, func(h *house) {
		b, die := &bank{}, true
		app := flowOf(h, func(ctx context.Context) (string, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Uses: 2}, bankTransfer{"bob", 1})
			if err != nil {
				return "", err
			}
			for i := range 3 {
				if _, err := gate.Act(ctx, "pay", grant, b.pay); err != nil {
					return "", err
				}
				if i == 1 && die {
					return "", errors.New("died")
				}
			}
			return "", nil
		})
		must(app.Run(h.Context(), "t", 0))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		for range 2 {
			if _, err := app.Resume(h.Context(), "t"); err == nil {
				h.Fatal("it went on")
			}
			die = false
		}
		b.want(h, bankTransfer{"bob", 1}, bankTransfer{"bob", 1})
	})
}

// A head that is deleted takes the branch back before an effect that happened: it
// does not happen again on the same approval.
func TestAttemptToDeleteWhatRan(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
		for range 2 { // rest, which waits, and pay
			info := must(h.ledger.Thread(h.Context(), "t"))(h)
			must(retain.Delete(h.Context(), h.ledger, info.Branches[0].Head, nil))(h)
		}
		_, err := app.Resume(h.Context(), "t")
		if b.want(h, bankTransfer{"bob", 10}); err == nil {
			h.Fatal("it went on as if nothing had been done")
		}
	})
}

// Deleting the checkpoint of a step does not make its effect undone.
func TestAttemptToDeleteTheStepOfAnEffect(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := flowOf(h, func(ctx context.Context) (string, error) {
			grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
			if err != nil {
				return "", err
			}
			if _, err := gate.Act(ctx, "pay", grant, b.pay); err != nil {
				return "", err
			}
			a, err := gate.Ask[any](ctx, gate.Question{Name: "more?", Bind: posthouse.ByName})
			return string(a.Verdict), err
		})
		must(app.Run(h.Context(), "t", 0))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
		info := must(h.ledger.Thread(h.Context(), "t"))(h)
		var ids []posthouse.ID
		for s, err := range h.ledger.List(h.Context(), posthouse.Query{Thread: "t", Descending: true}) {
			if err != nil {
				h.Fatal(err)
			}
			if s.ID != info.Branches[0].Head {
				ids = append(ids, s.ID)
			}
		}
		for _, id := range ids[:len(ids)-1] { // but for the input
			must(retain.Delete(h.Context(), h.ledger, id, &retain.DeleteOptions{Mode: retain.DeleteOrphan}))(h)
		}
		h.decide(h.only("t").ID, posthouse.Approve, "clerk")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
	})
}

// A content that Act puts to people again is approved or refused as it stands: an
// edit there would escape the rules that the program has for what it edits to.
func TestAttemptToEditWhatIsAskedAgain(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{question: func(c bankTransfer) gate.Question {
			q := gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}
			if c.Amount > 1000 {
				q.Quorum = &posthouse.Quorum{Need: 2}
			}
			return q
		}})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		h.now = h.now.Add(2 * time.Hour)
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		_, err := h.ledger.Decide(h.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"To":"bob","Amount":5000}`)})
		if err == nil {
			_, err = app.Resume(h.Context(), "t")
		}
		if b.want(h); err == nil {
			h.Fatal("nobody minded")
		}
	})
}

// An effect that people refused when Act asked again stays refused, even if the
// reason for asking has gone.
func TestAttemptToGoRoundARefusalByAskingAgain(t *testing.T) {
	onStores(t, func(h *house) {
		b, revoked := &bank{}, true
		app := dealing(h, b, dealOptions{act: gate.ActOptions[bankTransfer, string]{Check: func(context.Context, *posthouse.Gate) error {
			if revoked {
				return errors.New("the price moved")
			}
			return nil
		}}})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		h.decide(h.only("t").ID, posthouse.Reject, "mia")
		revoked = false
		_, err := app.Resume(h.Context(), "t")
		if b.want(h); !errors.Is(err, posthouse.ErrForbidden) {
			h.Fatal(err)
		}
	})
}

// The result of an effect is not that of another content, nor of one that was not
// approved.
func TestAttemptToTakeAnothersResult(t *testing.T) {
	onStores(t, func(h *house) {
		b, fail := &bank{}, true
		// A step that is tried again in the same process has another deal by then.
		_, err := once(h, "retry", func(ctx context.Context, g gate.Grant) (string, error) {
			other, err := gate.Propose(ctx, gate.Question{Name: "other", Auto: &gate.Auto{Accept: true}}, bankTransfer{"eve", 99})
			if err != nil {
				return "", err
			}
			return step.DoWith(ctx, "outer", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}}, func(ctx context.Context) (string, error) {
				if !fail {
					g = other
				}
				r, err := gate.Act(ctx, "pay", g, b.pay)
				if err == nil && fail {
					fail, err = false, errors.New("once more")
				}
				return r, err
			})
		})
		if b.want(h, bankTransfer{"bob", 10}); !errors.Is(err, posthouse.ErrConflict) {
			h.Errorf("a retry: %v", err)
		}
		// The gate under which it ran is named by an open one.
		b, stop := &bank{}, true
		app := flowOf(h, func(ctx context.Context) (string, error) {
			g, err := propose(ctx, "pay", bankTransfer{"bob", 10})
			if err != nil {
				return "", err
			}
			if !stop {
				_, err := propose(ctx, "other", bankTransfer{"eve", 99})
				e, _ := errors.AsType[*posthouse.Error](err)
				if e == nil || e.Gate == "" {
					return "", err
				}
				g = gate.Grant(e.Gate)
			}
			if _, err := gate.Act(ctx, "pay", g, b.pay); err != nil {
				return "", err
			}
			return "paid", map[bool]error{true: errors.New("stop")}[stop]
		})
		must(app.Run(h.Context(), "denied", 0))(h)
		h.decide(h.only("denied").ID, posthouse.Approve, "alice")
		if _, err := app.Resume(h.Context(), "denied"); err == nil {
			h.Fatal("it did not stop")
		}
		stop = false
		must(app.Resume(h.Context(), "denied"))(h)
		h.decide(h.only("denied").ID, posthouse.Reject, "alice")
		if r, err := app.Resume(h.Context(), "denied"); err == nil {
			h.Errorf("a grant that was refused: %v", r.Output)
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}

// A grant is good where it was given: another thread, a run that follows, the next
// generation and a fork's fork ask people about the same.
func TestAttemptToCarryAGrantElsewhere(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		var grant gate.Grant
		use := must(flow.New("use", func(ctx context.Context, g gate.Grant) (string, error) { return gate.Act(ctx, "pay", g, b.pay) }).Open(h.ledger, nil))(h)
		give := must(flow.New("use", func(ctx context.Context, _ gate.Grant) (_ string, err error) {
			grant, err = propose(ctx, "pay", bankTransfer{"bob", 10})
			return "", err
		}).Open(h.ledger, nil))(h)
		given := func(thread string) {
			must(give.Run(h.Context(), thread, ""))(h)
			h.decide(h.only(thread).ID, posthouse.Approve, "alice")
			must(give.Resume(h.Context(), thread))(h)
		}
		asks := func(what, thread string) {
			h.Helper()
			r, err := use.Run(h.Context(), thread, grant)
			if err != nil || r.Status != posthouse.StatusWaiting || len(b.paid) != 0 {
				h.Errorf("%s: %v %v, paid %v", what, r, err, b.paid)
			}
		}
		given("a")
		asks("another thread", "elsewhere")
		given("b")
		must(h.ledger.Release(h.Context(), "b", nil))(h)
		asks("the next generation", "b")

		given("c")
		must(use.Run(h.Context(), "c", grant))(h)
		b.want(h, bankTransfer{"bob", 10})
		for range 2 { // the same step of the same thread and branch, of a run that follows
			if _, err := use.Run(h.Context(), "c", grant); !errors.Is(err, posthouse.ErrForbidden) {
				h.Errorf("a run that follows: %v", err)
			}
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}

// A branch that ended and another of its name are not the same: what was approved
// on the one licenses nothing on the other.
func TestAttemptToTakeABranchsName(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		root := must(h.ledger.Thread(h.Context(), "t"))(h).Branches[0].Head
		for i := range 2 {
			f := must(app.Fork(h.Context(), root, nil, graph.ForkOptions{Branch: "b"}))(h)
			var open []*posthouse.Gate
			for _, g := range h.inbox("t") {
				if g.Branch == "b" {
					open = append(open, g)
				}
			}
			if len(open) != 1 {
				h.Fatalf("fork %d asks %d questions", i, len(open))
			}
			b.want(h)
			if i == 1 {
				break
			}
			h.decide(open[0].ID, posthouse.Approve, "alice")
			must(retain.Delete(h.Context(), h.ledger, f.Header.ID, &retain.DeleteOptions{Mode: retain.DeleteSubtree}))(h)
		}
		must(app.Resume(h.Context(), "t", graph.RunOptions{Branch: "b"}))(h)
		b.want(h)
	})
}

// A run that is rolled back does not leave its approval to the next.
func TestAttemptToRollBackAnEffect(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		in := make(chan struct{})
		g := graph.New[deal]("slow")
		g.Node("propose", func(ctx context.Context, s *deal) (err error) {
			if s.Grant == "" {
				s.Grant, err = propose(ctx, "pay", bankTransfer{"bob", s.Amount})
			}
			return err
		})
		g.Node("pay", func(ctx context.Context, s *deal) (err error) {
			s.Receipt, err = gate.Act(ctx, "pay", s.Grant, func(ctx context.Context, t bankTransfer) (string, error) {
				r, err := b.pay(ctx, t)
				if len(b.paid) == 1 {
					close(in)
					<-ctx.Done()
				}
				return r, err
			})
			return err
		})
		g.Edge(graph.Start, "propose")
		g.Edge("propose", "pay")
		g.Edge("pay", graph.End)
		app := must(g.Compile(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		first := h.only("t").ID
		h.decide(first, posthouse.Approve, "alice")
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = app.Resume(context.WithoutCancel(h.Context()), "t") }()
		<-in
		r, err := app.Run(h.Context(), "t", deal{Amount: 10, Grant: gate.Grant(first)}, graph.RunOptions{OnBusy: runs.Rollback})
		<-ended
		if b.want(h, bankTransfer{"bob", 10}); err == nil && r.Status == posthouse.StatusDone {
			h.Fatal(fmt.Sprint(r, err))
		}
	})
}
