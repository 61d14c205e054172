package content_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/retain"
)

var errLost = fmt.Errorf("the line went dead: %w", posthouse.ErrUnknown)

// proposesAndPays is a graph that proposes and pays in one node.
func proposesAndPays(h *house, b *bank, o gate.ActOptions[bankTransfer, string], retries int) *graph.App[deal] {
	h.Helper()
	g := graph.New[deal]("one-node")
	g.Node("pay", func(ctx context.Context, s *deal) error {
		grant, err := propose(ctx, "pay", bankTransfer{"bob", s.Amount})
		if err != nil {
			return err
		}
		s.Receipt, err = gate.Act(ctx, "pay", grant, b.pay, o)
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: retries + 1, InitialDelay: -1}})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	return must(g.Compile(h.ledger, nil))(h)
}

// lost has 10 approved, and paid without an answer of the bank.
func lost(h *house, thread string, b *bank, app *graph.App[deal]) {
	h.Helper()
	b.fail = errLost
	must(app.Run(h.Context(), thread, deal{Amount: 10}))(h)
	h.decide(h.only(thread).ID, posthouse.Approve, "alice")
	if r, err := app.Resume(h.Context(), thread); err != nil && !errors.Is(err, posthouse.ErrUnknown) || err == nil && len(r.Waiting) != 1 {
		h.Fatal(r, err)
	}
	b.want(h, bankTransfer{"bob", 10})
}

// refusedFor wants an error that names the question about an unknown outcome.
func (h *house) refusedFor(q *posthouse.Gate, err error) {
	h.Helper()
	var refused *posthouse.Error
	if !errors.As(err, &refused) || !errors.Is(err, posthouse.ErrConflict) || refused.Gate != q.ID {
		h.Errorf("while the outcome is unknown: %v, want a conflict with gate %s", err, q.ID)
	}
}

// Where something else was approved since an effect's outcome became unknown,
// people are asked about what may have happened, and what they say of it is not
// taken for the other: also where the effect is idempotent, by its key.
func TestAttemptToSettleAnotherContentsOutcome(t *testing.T) {
	onStores(t, func(h *house) {
		for _, idempotent := range []bool{false, true} {
			for _, v := range []posthouse.Verdict{posthouse.Redo, posthouse.Happened} {
				b, thread := &bank{}, fmt.Sprint(v, idempotent)
				app := proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{Idempotent: idempotent}, 0)
				lost(h, thread, b, app)
				_, err := app.Update(h.Context(), thread, func(s *deal) { s.Amount = 99 })
				if !idempotent {
					h.refusedFor(h.only(thread), err)
					continue
				}
				if err != nil {
					h.Fatal(err)
				}
				must(app.Resume(h.Context(), thread))(h)
				h.decide(h.only(thread).ID, posthouse.Approve, "alice") // of 99
				if _, err := app.Resume(h.Context(), thread); err != nil {
					h.Errorf("%s: %v", thread, err)
					continue
				}
				b.want(h, bankTransfer{"bob", 10})
				g := h.only(thread)
				if g.Kind != gate.KindOutcome || !strings.Contains(string(g.Payload), "10") {
					h.Errorf("%s: people are asked %s about %s", thread, g.Text, g.Payload)
				}
				d := posthouse.Decision{Verdict: v, By: "ops"}
				if v == posthouse.Happened {
					d.Value = []byte(`"receipt of 10"`)
				}
				must(h.ledger.Decide(h.Context(), g.ID, d))(h)
				_, err = app.Resume(h.Context(), thread)
				if v == posthouse.Redo { // 10 was not paid: 99 is
					if b.want(h, bankTransfer{"bob", 10}, bankTransfer{"bob", 99}); err != nil {
						h.Errorf("%s: %v", thread, err)
					}
					continue
				}
				if b.want(h, bankTransfer{"bob", 10}); !errors.Is(err, posthouse.ErrConflict) {
					h.Errorf("%s: the receipt of 10 is taken for 99: %v", thread, err)
				}
			}
		}
	})
}

// An effect that people gave up stays given up, whatever a deploy says of it.
func TestAttemptToRunAnAbandonedEffect(t *testing.T) {
	onStores(t, func(h *house) {
		for name, o := range map[string]gate.ActOptions[bankTransfer, string]{
			"nothing":    {},
			"idempotent": {Idempotent: true},
			"reconcile":  {Reconcile: func(context.Context, bankTransfer) (string, bool, error) { return "", false, nil }},
		} {
			b := &bank{}
			app := proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{}, 0)
			lost(h, name, b, app)
			must(app.Resume(h.Context(), name))(h)
			h.decide(h.only(name).ID, posthouse.GiveUp, "ops")
			h.restart()
			app = proposesAndPays(h, b, o, 0)
			for range 2 {
				_, err := app.Resume(h.Context(), name)
				if b.want(h, bankTransfer{"bob", 10}); !errors.Is(err, posthouse.ErrForbidden) {
					h.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

// An unknown outcome stays unknown: retries, updates, restarted steps and forks do
// not run the effect again before somebody has said what became of it.
func TestAttemptToForgetAnUnknownOutcome(t *testing.T) {
	onStores(t, func(h *house) {
		head := func(thread string) posthouse.ID {
			return must(h.ledger.Thread(h.Context(), thread))(h).Branches[0].Head
		}
		for name, way := range map[string]func(app *graph.App[deal], thread string) (branch string){
			"resume": func(*graph.App[deal], string) string { return "" },
			"update": func(app *graph.App[deal], thread string) string {
				_, err := app.Update(h.Context(), thread, func(s *deal) { s.Again = true })
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"goto": func(app *graph.App[deal], thread string) string {
				_, err := app.Update(h.Context(), thread, nil, graph.UpdateOptions{Goto: "pay"})
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"anew": func(_ *graph.App[deal], thread string) string {
				_, err := h.ledger.RestartStep(h.Context(), head(thread), nil)
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"input": func(app *graph.App[deal], thread string) string {
				_, err := app.Run(h.Context(), thread, deal{Amount: 11})
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"release": func(_ *graph.App[deal], thread string) string {
				_, err := h.ledger.Release(h.Context(), thread, nil)
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"delete": func(_ *graph.App[deal], thread string) string {
				_, err := retain.DeleteThread(h.Context(), h.ledger, thread, nil)
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"save": func(_ *graph.App[deal], thread string) string {
				_, err := h.ledger.Save(h.Context(), &posthouse.Checkpoint{Header: posthouse.Header{Thread: thread, Parent: head(thread)}}, nil)
				h.refusedFor(h.only(thread), err)
				return ""
			},
			"fork": func(app *graph.App[deal], thread string) string {
				return must(app.Fork(h.Context(), head(thread), nil))(h).Header.Branch
			},
			"a fork's fork": func(app *graph.App[deal], thread string) string {
				f := must(app.Fork(h.Context(), head(thread), nil))(h)
				return must(app.Fork(h.Context(), f.Header.ID, nil))(h).Header.Branch
			},
		} {
			for _, retries := range []int{0, 3} {
				b, thread := &bank{}, strings.ReplaceAll(fmt.Sprint(name, retries), " ", "-")
				app := proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{}, retries)
				b.fail = errLost
				must(app.Run(h.Context(), thread, deal{Amount: 10}))(h)
				h.decide(h.only(thread).ID, posthouse.Approve, "alice")
				_, _ = app.Resume(h.Context(), thread)
				branch := way(app, thread)
				for range 2 {
					_, _ = app.Resume(h.Context(), thread, graph.RunOptions{Branch: branch})
				}
				b.want(h, bankTransfer{"bob", 10})
				if len(h.inbox(thread)) == 0 {
					h.Errorf("%s asks nobody", thread)
				}
			}
		}
	})
}

// Each lost attempt is a question of its own: a yes to the first does not answer
// the second.
func TestAttemptToReuseAnAnswerAboutAnOutcome(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{}, 2)
		b.fail = errLost
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		_, _ = app.Resume(h.Context(), "t")
		_, _ = app.Resume(h.Context(), "t")
		first := h.only("t")
		b.fail = errLost
		h.decide(first.ID, posthouse.Redo, "ops")
		_, _ = app.Resume(h.Context(), "t")
		_, _ = app.Resume(h.Context(), "t")
		b.want(h, bankTransfer{"bob", 10}, bankTransfer{"bob", 10})
		if second := h.only("t"); second.Kind != gate.KindOutcome || second.Content() == first.Content() {
			h.Fatalf("second %+v", second)
		}
	})
}

// An idempotent effect that fails when it is done again may have happened the first
// time: whoever does not call it idempotent any more has to ask.
func TestAttemptToForgetByAFailure(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{Idempotent: true}, 0)
		lost(h, "t", b, app)
		b.fail = errors.New("refused")
		if _, err := app.Resume(h.Context(), "t"); err == nil {
			h.Fatal("it did not fail")
		}
		app = proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{}, 0)
		must(app.Resume(h.Context(), "t"))(h)
		if g := h.only("t"); len(b.paid) != 2 || g.Kind != gate.KindOutcome {
			h.Fatalf("paid %v, %+v", b.paid, g)
		}
	})
}

// An effect counts as happened even if its result cannot be kept.
func TestAttemptWithAResultThatCannotBeKept(t *testing.T) {
	onStores(t, func(h *house) {
		for name, fail := range map[string]func() (any, error){
			"does not encode": func() (any, error) { return func() {}, nil },
			"is too large":    func() (any, error) { return strings.Repeat("x", 17<<20), nil },
			"panics":          func() (any, error) { panic("lost") },
			"timed out":       func() (any, error) { return nil, context.DeadlineExceeded },
		} {
			ran, thread := 0, strings.ReplaceAll(name, " ", "-")
			app := flowOf(h, func(ctx context.Context) (string, error) {
				grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
				if err != nil {
					return "", err
				}
				_, err = gate.Act(ctx, "pay", grant, func(context.Context, bankTransfer) (any, error) { ran++; return fail() })
				return "", err
			})
			must(app.Run(h.Context(), thread, 0))(h)
			h.decide(h.only(thread).ID, posthouse.Approve, "alice")
			must(app.Resume(h.Context(), thread))(h)
			if g := h.only(thread); ran != 1 || g.Kind != gate.KindOutcome {
				h.Errorf("a result that %s: ran %d times, %+v", name, ran, g)
			}
		}
	})
}

// An outcome that a program has people state before there was any attempt settles
// nothing.
func TestAttemptToAskTheOutcomeBeforehand(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{fail: errLost}
		app := flowOf(h, func(ctx context.Context) (string, error) {
			a, err := gate.Ask[any](ctx, gate.Question{Name: gate.KindOutcome, Kind: gate.KindOutcome, Text: "Was it done?", Show: bankTransfer{"bob", 10}})
			if err != nil || !a.Approved() {
				return "", err
			}
			grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
			if err != nil {
				return "", err
			}
			return gate.Act(ctx, "pay", grant, b.pay)
		})
		must(app.Run(h.Context(), "t", 0))(h)
		for range 2 {
			h.decide(h.only("t").ID, posthouse.Approve, "alice")
			_, _ = app.Resume(h.Context(), "t")
		}
		_, _ = app.Resume(h.Context(), "t")
		if b.want(h, bankTransfer{"bob", 10}); len(h.inbox("t")) != 1 {
			h.Fatal("nobody is asked")
		}
	})
}
