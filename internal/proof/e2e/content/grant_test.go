package content_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// A bankTransfer is what is proposed.
type bankTransfer struct {
	To     string
	Amount int
}

// A bank is the world: what was carried out, by whom it was not checked.
type bank struct {
	mu   sync.Mutex
	paid []bankTransfer
	fail error // of the next payment, which is made all the same
}

func (b *bank) pay(_ context.Context, t bankTransfer) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid = append(b.paid, t)
	err := b.fail
	b.fail = nil
	return fmt.Sprint("receipt ", len(b.paid)), err
}

// A deal is a state that a grant stands in.
type deal struct {
	Amount  int
	Grant   gate.Grant
	Receipt string
	Again   bool
}

type dealOptions struct {
	question func(bankTransfer) gate.Question
	act      gate.ActOptions[bankTransfer, string]
}

// dealing is a graph that proposes in one node and pays in the next.
func dealing(h *house, b *bank, o dealOptions) *graph.App[deal] {
	if o.question == nil {
		o.question = func(bankTransfer) gate.Question { return gate.Question{Name: "pay", Text: "Pay?", Expires: time.Hour} }
	}
	g := graph.New[deal]("deal")
	g.Node("propose", func(ctx context.Context, s *deal) (err error) {
		s.Grant, err = gate.ProposeFor(ctx, bankTransfer{"bob", s.Amount}, o.question)
		return err
	})
	g.Node("pay", func(ctx context.Context, s *deal) (err error) {
		s.Receipt, err = gate.Act(ctx, "pay", s.Grant, b.pay, o.act)
		return err
	})
	g.Node("rest", func(ctx context.Context, s *deal) error {
		_, err := gate.Ask[any](ctx, gate.Question{Name: "more?", Bind: posthouse.ByName})
		return err
	})
	g.Edge(graph.Start, "propose")
	g.Edge("propose", "pay")
	g.Edge("pay", "rest")
	g.Route("rest", func(s *deal) string {
		if s.Again {
			return "pay"
		}
		return graph.End
	})
	return must(g.Compile(h.ledger, nil))(h)
}

func (b *bank) want(h *house, paid ...bankTransfer) {
	h.Helper()
	if !slices.Equal(b.paid, paid) {
		h.Fatalf("paid %v, want %v", b.paid, paid)
	}
}

// The effect runs on the approved or the edited content, whatever the state says
// by then.
func TestActRunsWhatWasApproved(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		id := h.only("t").ID
		h.decide(id, posthouse.Approve, "alice")
		must(app.Update(h.Context(), "t", func(s *deal) { s.Amount = 1_000_000 }))(h)
		must(app.Resume(h.Context(), "t"))(h) // the state changed before the node was over: it asks
		b.want(h)
		again := h.only("t")
		if again.Supersedes != id || !strings.Contains(string(again.Payload), "1000000") {
			h.Fatalf("again %+v", again)
		}
		must(h.ledger.Decide(h.Context(), again.ID, posthouse.Decision{
			Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"To":"bob","Amount":20}`),
		}))(h)
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 20})
		grant := must(ledger.ReadGrant(h.Context(), h.ledger, again.ID))(h)
		if grant.Status != grants.Executed || len(grant.Uses) != 1 || grant.Uses[0].Name != "pay" {
			h.Fatalf("grant %+v", grant)
		}
	})
}

// A decision licenses one effect: a loop that comes by again is refused.
func TestADecisionLicensesOneEffect(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{})
		must(app.Run(h.Context(), "t", deal{Amount: 10, Again: true}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
		h.decide(h.only("t").ID, posthouse.Approve, "alice") // more
		if _, err := app.Resume(h.Context(), "t"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Fatal(err)
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}

// Effects that run at once share no grant.
func TestEffectsAtOnceShareNoGrant(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := must(flow.New("both", func(ctx context.Context, _ int) (string, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, bankTransfer{"bob", 1})
			if err != nil {
				return "", err
			}
			ctx = step.Unordered(ctx)
			errs := make([]error, 4)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { _, errs[i] = gate.Act(ctx, fmt.Sprint("pay-", i), grant, b.pay) })
			}
			all.Wait()
			refused := 0
			for _, err := range errs {
				if errors.Is(err, posthouse.ErrForbidden) {
					refused++
				}
			}
			return fmt.Sprint(refused, " refused"), nil
		}).Open(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", 0))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		out := must(app.Resume(h.Context(), "t"))(h)
		if out.Output != "3 refused" {
			h.Fatal(out.Output)
		}
		b.want(h, bankTransfer{"bob", 1})
	})
}

// A fork or a copy after the approval carries the record to be read; an effect
// there is put to people again.
func TestForksActUnderTheirOwnDecision(t *testing.T) {
	onStores(t, func(h *house) {
		for i, away := range []string{"", "away"} {
			b, thread := &bank{}, fmt.Sprint("t", i)
			app := dealing(h, b, dealOptions{})
			must(app.Run(h.Context(), thread, deal{Amount: 10}))(h)
			first := h.only(thread).ID
			h.decide(first, posthouse.Approve, "alice")
			must(app.Resume(h.Context(), thread))(h)
			b.want(h, bankTransfer{"bob", 10})
			var before posthouse.ID // after the approval, before the payment
			for s, err := range app.History(h.Context(), thread) {
				if err != nil {
					h.Fatal(err)
				}
				if s.Header.Node == "propose" && s.Header.Kind == posthouse.KindNode {
					before = s.Header.ID
				}
			}
			f := must(app.Fork(h.Context(), before, nil, graph.ForkOptions{Thread: away}))(h)
			on := graph.RunOptions{Branch: f.Header.Branch}
			parked := must(app.Resume(h.Context(), f.Header.Thread, on))(h)
			b.want(h, bankTransfer{"bob", 10})
			if len(parked.Waiting) != 1 || parked.Waiting[0].Supersedes != first || !strings.Contains(parked.Waiting[0].Note, "asked again") {
				h.Fatalf("parked.Waiting %+v", parked.Waiting)
			}
			h.decide(parked.Waiting[0].ID, posthouse.Approve, "mia")
			must(app.Resume(h.Context(), f.Header.Thread, on))(h)
			b.want(h, bankTransfer{"bob", 10}, bankTransfer{"bob", 10})
		}
	})
}

// An approval is not authority for ever: its time, the policy and the program's own
// check are looked at again when the effect is to run.
func TestApprovalsLapse(t *testing.T) {
	onStores(t, func(h *house) {
		revoked := false
		for name, lapse := range map[string]func(){
			"time":   func() { h.now = h.now.Add(2 * time.Hour) },
			"policy": func() { revoked = true },
		} {
			b, hold := &bank{}, true
			h.policy = func(_ *posthouse.Gate, d *posthouse.Decision) error {
				if revoked && d.By == "alice" {
					return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "alice has left"}
				}
				return nil
			}
			app := must(flow.New("lapse", func(ctx context.Context, _ int) (string, error) {
				grant, err := gate.Propose(ctx, gate.Question{Name: "pay", ValidFor: time.Hour}, bankTransfer{"bob", 1})
				if err != nil {
					return "", err
				}
				if hold {
					return "", errors.New("held up")
				}
				return gate.Act(ctx, "pay", grant, b.pay)
			}).Open(h.ledger, nil))(h)
			must(app.Run(h.Context(), name, 0))(h)
			first := h.only(name).ID
			for _, by := range []string{"policy:alice", "posthouse"} { // names that look like an automatic decision
				if _, err := h.ledger.Decide(h.Context(), first, posthouse.Decision{Verdict: posthouse.Approve, By: by}); !errors.Is(err, posthouse.ErrInvalid) {
					h.Fatalf("%s approves: %v", by, err)
				}
			}
			h.decide(first, posthouse.Approve, "alice")
			if _, err := app.Resume(h.Context(), name); err == nil {
				h.Fatal("it was not held up")
			}
			hold = false
			lapse()
			must(app.Resume(h.Context(), name))(h)
			b.want(h)
			g := h.only(name)
			if g.Supersedes != first {
				h.Fatalf("%+v", g)
			}
			h.decide(g.ID, posthouse.Approve, "mia")
			must(app.Resume(h.Context(), name))(h)
			b.want(h, bankTransfer{"bob", 1})
			revoked = false
		}
	})
}

// An effect that may have happened is not done again without asking.
func TestUnknownOutcomes(t *testing.T) {
	lost := fmt.Errorf("the line went dead: %w", posthouse.ErrUnknown)
	for name, tc := range map[string]struct {
		act    gate.ActOptions[bankTransfer, string]
		answer posthouse.Decision // to the question for people; zero: there is no question
		paid   int
		want   string
	}{
		"idempotent": {act: gate.ActOptions[bankTransfer, string]{Idempotent: true}, paid: 2, want: "receipt 2"},
		"happened": {act: gate.ActOptions[bankTransfer, string]{Reconcile: func(context.Context, bankTransfer) (string, bool, error) {
			return "receipt found", true, nil
		}}, paid: 1, want: "receipt found"},
		"did not": {act: gate.ActOptions[bankTransfer, string]{Reconcile: func(context.Context, bankTransfer) (string, bool, error) {
			return "", false, nil
		}}, paid: 2, want: "receipt 2"},
		"people say it did":     {answer: posthouse.Decision{Verdict: posthouse.Happened, Value: []byte(`"receipt by hand"`)}, paid: 1, want: "receipt by hand"},
		"people say it did not": {answer: posthouse.Decision{Verdict: posthouse.Redo}, paid: 2, want: "receipt 2"},
		"people give up":        {answer: posthouse.Decision{Verdict: posthouse.GiveUp}, paid: 1},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				b := &bank{fail: lost}
				app := dealing(h, b, dealOptions{act: tc.act})
				must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
				id := h.only("t").ID
				h.decide(id, posthouse.Approve, "alice")
				_, err := app.Resume(h.Context(), "t")
				if tc.act.Idempotent != errors.Is(err, posthouse.ErrUnknown) || !tc.act.Idempotent && err != nil {
					h.Fatal(err)
				}
				after := grants.Unknown
				if name == "happened" { // the program found it at once
					after = grants.Executed
				}
				if g := must(ledger.ReadGrant(h.Context(), h.ledger, id))(h); g.Status != after {
					h.Fatalf("%+v", g)
				}
				h.restart()
				h.now = h.now.Add(31 * time.Second) // the program looks again
				app = dealing(h, b, dealOptions{act: tc.act})
				_, err = app.Resume(h.Context(), "t")
				if tc.answer.Verdict != "" {
					if err != nil || len(b.paid) != 1 {
						h.Fatalf("error %v, b.paid %v", err, b.paid)
					}
					g := h.only("t")
					if g.Kind != gate.KindOutcome {
						h.Fatalf("%+v", g)
					}
					tc.answer.By = "ops"
					must(h.ledger.Decide(h.Context(), g.ID, tc.answer))(h)
					_, err = app.Resume(h.Context(), "t")
				}
				if tc.want == "" {
					if !errors.Is(err, posthouse.ErrForbidden) {
						h.Fatal(err)
					}
				} else if err != nil {
					h.Fatal(err)
				} else if s := must(app.State(h.Context(), "t"))(h); s.State.Receipt != tc.want {
					h.Fatalf("s.State %+v", s.State)
				}
				if len(b.paid) != tc.paid {
					h.Fatalf("paid %v", b.paid)
				}
				if tc.want != "" {
					if g := must(ledger.ReadGrant(h.Context(), h.ledger, id))(h); g.Status != grants.Executed {
						h.Fatalf("%+v", g)
					}
				}
			})
		})
	}
}

// An edit cannot escape the rules of what it makes of the content.
func TestEditsAreJudgedAgain(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{question: func(c bankTransfer) gate.Question {
			q := gate.Question{Name: "pay", Text: "Pay?"}
			if c.Amount > 1000 {
				q.Quorum = &posthouse.Quorum{Need: 2}
			}
			return q
		}})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		must(h.ledger.Decide(h.Context(), h.only("t").ID, posthouse.Decision{
			Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"To":"bob","Amount":5000}`),
		}))(h)
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h)
		g := h.only("t")
		if g.Quorum == nil || !strings.Contains(string(g.Payload), "5000") {
			h.Fatalf("%+v", g)
		}
		h.decide(g.ID, posthouse.Approve, "alice")
		h.decide(g.ID, posthouse.Approve, "mia")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 5000})
	})
}

// Answers that license nothing, and effects without an approval.
func TestNothingRunsWithoutALicense(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		act := func(ctx context.Context, id posthouse.ID, o ...gate.ActOptions[bankTransfer, string]) error {
			_, err := gate.Act(ctx, "pay", gate.Grant(id), b.pay, o...)
			return err
		}
		for name, node := range map[string]func(ctx context.Context) error{
			"asked": func(ctx context.Context) error {
				a, err := gate.Ask[any](ctx, gate.Question{Name: "q", Show: bankTransfer{"bob", 1}})
				if err != nil {
					return err
				}
				return act(ctx, a.Gate)
			},
			"by name": func(ctx context.Context) error {
				a, err := gate.Ask[any](ctx, gate.Question{Name: "q", Bind: posthouse.ByName})
				if err != nil {
					return err
				}
				return act(ctx, a.Gate)
			},
			"empty": func(ctx context.Context) error {
				if _, err := gate.Ask[any](ctx, gate.Question{Name: "q"}); err != nil {
					return err
				}
				if err := act(ctx, ""); !errors.Is(err, posthouse.ErrInvalid) {
					return fmt.Errorf("no grant: %v", err)
				}
				return &posthouse.Error{Code: posthouse.CodeForbidden}
			},
			"unexpected": func(ctx context.Context) error {
				grant, err := gate.Propose(ctx, gate.Question{Name: "q"}, bankTransfer{"bob", 1})
				if err != nil {
					return err
				}
				err = act(ctx, posthouse.ID(grant), gate.ActOptions[bankTransfer, string]{Expect: &bankTransfer{"eve", 1}})
				if !errors.Is(err, posthouse.ErrConflict) {
					return fmt.Errorf("an effect that was not expected: %v", err)
				}
				return &posthouse.Error{Code: posthouse.CodeForbidden}
			},
		} {
			app := must(flow.New("f", func(ctx context.Context, _ int) (int, error) { return 0, node(ctx) }).Open(h.ledger, nil))(h)
			must(app.Run(h.Context(), name, 0))(h)
			h.decide(h.only(name).ID, posthouse.Approve, "alice")
			if _, err := app.Resume(h.Context(), name); !errors.Is(err, posthouse.ErrForbidden) {
				h.Fatalf("name %v, error %v", name, err)
			}
			b.want(h)
		}
		// A refusal is final, and says who.
		app := must(flow.New("f", func(ctx context.Context, _ int) (int, error) {
			_, err := gate.Propose(ctx, gate.Question{Name: "q"}, bankTransfer{"bob", 1})
			return 0, err
		}).Open(h.ledger, nil))(h)
		must(app.Run(h.Context(), "no", 0))(h)
		h.decide(h.only("no").ID, posthouse.Reject, "alice")
		_, err := app.Resume(h.Context(), "no")
		if e, ok := errors.AsType[*posthouse.Error](err); !ok || e.Code != posthouse.CodeForbidden || e.Decision.By != "alice" {
			h.Fatal(err)
		}
	})
}

// A ledger that asks for grants lets no other effect on the world run.
func TestRequiredGrants(t *testing.T) {
	l := must(ledger.Open(memStore(), &ledger.Options{RequireGrants: true, Validate: gate.Validator()}))(&house{T: t})
	ran := false
	app := must(flow.New("f", func(ctx context.Context, _ int) (int, error) {
		return step.DoWith(ctx, "pay", step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (int, error) { ran = true; return 1, nil })
	}).Open(l, nil))(&house{T: t})
	if _, err := app.Run(t.Context(), "t", 0); !errors.Is(err, posthouse.ErrForbidden) || ran {
		t.Fatalf("error %v, ran %v", err, ran)
	}
	g := graph.New[deal]("g")
	g.Node("pay", func(context.Context, *deal) error { return nil }, graph.NodeOptions{Effect: posthouse.EffectExternal})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	if _, err := g.Compile(l, nil); err == nil || !strings.Contains(err.Error(), "gate.Act") {
		t.Fatal(err)
	}
	for class, refused := range map[posthouse.Effect]bool{
		posthouse.EffectUnset: true, posthouse.EffectExternal: true, posthouse.EffectWrite: false, posthouse.EffectRead: false,
	} {
		r := graph.New[deal]("r" + class.String())
		r.Remote("pay", graph.Remote[deal, int, int]{
			Task: "pay", In: func(*deal) (int, error) { return 1, nil }, Out: func(*deal, int) error { return nil },
		}, graph.NodeOptions{Effect: class})
		r.Edge(graph.Start, "pay")
		r.Edge("pay", graph.End)
		app, err := r.Compile(l, nil)
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "gate.Act") {
			t.Fatalf("a remote node of class %q: %v", class, err)
		}
		if !refused {
			out := must(app.Run(t.Context(), "r"+class.String(), deal{}))(&house{T: t})
			if len(out.Waiting) != 1 || out.Waiting[0].Call.Effect != class {
				t.Errorf("class %q: %+v", class, out.Waiting)
			}
		}
		out, err := must(flow.New("h"+class.String(), func(ctx context.Context, _ int) (int, error) {
			return step.RemoteWith[int](ctx, "pay", "pay", 1, runs.RemoteOptions{Effect: class})
		}).Open(l, nil))(&house{T: t}).Run(t.Context(), "h"+class.String(), 0)
		if refused != errors.Is(err, posthouse.ErrForbidden) || !refused && len(out.Waiting) != 1 {
			t.Errorf("a remote step of class %q: %v", class, err)
		}
	}
}
