package content_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
)

type payment struct {
	Amount int
	Paid   []string
}

// paying is a graph of one node that asks about the amount, then maybe when, and
// pays.
func paying(h *house, text string, when bool) *graph.App[payment] {
	g := graph.New[payment]("pay")
	g.Node("pay", func(ctx context.Context, s *payment) error {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "pay", Text: fmt.Sprintf(text, s.Amount), Expires: time.Hour})
		if err != nil {
			return err
		}
		if when {
			if _, err := gate.Ask[string](ctx, gate.Question{Name: "when?", Verdicts: []posthouse.Verdict{posthouse.Respond}, Bind: posthouse.ByName}); err != nil {
				return err
			}
		}
		if a.Approved() {
			s.Paid = append(s.Paid, fmt.Sprintf("%d by %s", s.Amount, a.By))
		}
		return nil
	})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	return must(g.Compile(h.ledger, nil))(h)
}

// A fork with another amount never shows the old question, and what was approved
// of the old amount pays nothing of the new one.
func TestChangedForkAsksAgain(t *testing.T) {
	onStores(t, func(h *house) {
		for _, thread := range []string{"", "away"} {
			app, from := paying(h, "Pay %d?", false), "p"+thread
			r := must(app.Run(h.Context(), from, payment{Amount: 10}))(h)
			f := must(app.Fork(h.Context(), r.Checkpoint, func(s *payment) { s.Amount = 1_000_000 }, graph.ForkOptions{Thread: thread}))(h)
			if f.Header.Status != posthouse.StatusInterrupted || len(f.Header.Gates) > 0 {
				h.Fatalf("the fork is %s and offers %v", f.Header.Status, f.Header.Gates)
			}
			out := must(app.Resume(h.Context(), f.Header.Thread, graph.RunOptions{Branch: f.Header.Branch}))(h)
			if len(out.Waiting) != 1 || out.Waiting[0].Text != "Pay 1000000?" {
				h.Fatalf("out.Waiting %+v", out.Waiting)
			}
			h.decide(out.Waiting[0].ID, posthouse.Approve, "mia")
			out = must(app.Resume(h.Context(), f.Header.Thread, graph.RunOptions{Branch: f.Header.Branch}))(h)
			if got := fmt.Sprint(out.State.Paid); got != "[1000000 by mia]" {
				h.Fatal(got)
			}
		}
	})
}

// An unchanged fork keeps its question under a new id, with as much time as it had.
func TestUnchangedForkKeepsTheQuestion(t *testing.T) {
	onStores(t, func(h *house) {
		app := paying(h, "Pay %d?", false)
		r := must(app.Run(h.Context(), "p", payment{Amount: 10}))(h)
		h.now = h.now.Add(50 * time.Minute)
		f := must(app.Fork(h.Context(), r.Checkpoint, nil))(h)
		if f.Header.Status != posthouse.StatusWaiting || len(f.Header.Gates) != 1 {
			h.Fatalf("f.Header %+v", f.Header)
		}
		g := must(h.ledger.Gate(h.Context(), f.Header.Gates[0]))(h)
		if g.ID == r.Waiting[0].ID || !g.ExpiresAt.Equal(h.now.Add(time.Hour)) {
			h.Fatalf("gate %s expires at %s, now is %s", g.ID, g.ExpiresAt, h.now)
		}
		h.decide(g.ID, posthouse.Approve, "mia")
		out := must(app.Resume(h.Context(), "p", graph.RunOptions{Branch: f.Header.Branch}))(h)
		if got := fmt.Sprint(out.State.Paid); got != "[10 by mia]" {
			h.Fatal(got)
		}
	})
}

// An update between two questions takes nothing along of what was approved before.
func TestUpdateBetweenTwoQuestions(t *testing.T) {
	onStores(t, func(h *house) {
		app := paying(h, "Pay %d?", true)
		must(app.Run(h.Context(), "p", payment{Amount: 10}))(h)
		approved := h.only("p").ID
		h.decide(approved, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "p"))(h)
		must(app.Update(h.Context(), "p", func(s *payment) { s.Amount = 2_000_000 }))(h)
		must(app.Resume(h.Context(), "p"))(h)
		g := h.only("p")
		if g.Name != "pay" || g.Text != "Pay 2000000?" || g.Supersedes != approved {
			h.Fatalf("%+v", g)
		}
		// The first decision stands, and says where to look now.
		_, err := h.ledger.Decide(h.Context(), approved, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		var e *posthouse.Error
		if !errors.Is(err, posthouse.ErrConflict) || !errors.As(err, &e) || e.Gate != g.ID {
			h.Fatal(err)
		}
	})
}

// A deploy that asks something else asks: while the old question waits, and when
// it was answered.
func TestDeployedQuestion(t *testing.T) {
	onStores(t, func(h *house) {
		for _, answered := range []bool{false, true} {
			thread := fmt.Sprint("t", answered)
			build := func(text string) *flow.App[int, string] {
				return must(flow.New("deployed", func(ctx context.Context, amount int) (string, error) {
					a, err := gate.Ask[any](ctx, gate.Question{Name: "pay", Text: fmt.Sprintf(text, amount)})
					if err != nil {
						return "", err
					}
					_, err = gate.Ask[any](ctx, gate.Question{Name: "really?", Bind: posthouse.ByName})
					return fmt.Sprintf(text, amount) + " " + a.By, err
				}).Open(h.ledger, nil))(h)
			}
			must(build("Pay %d?").Run(h.Context(), thread, 10))(h)
			first := h.only(thread)
			if answered {
				h.decide(first.ID, posthouse.Approve, "alice")
				must(build("Pay %d?").Resume(h.Context(), thread))(h)
				h.decide(h.only(thread).ID, posthouse.Approve, "clerk")
			} else {
				h.decide(first.ID, posthouse.Approve, "alice")
			}
			h.restart()
			must(build("Pay %d times ten?").Resume(h.Context(), thread))(h)
			again := h.only(thread)
			if again.Text != "Pay 10 times ten?" || again.Supersedes != first.ID {
				h.Fatalf("again %+v", again)
			}
		}
	})
}

// Questions of one name in goroutines, in loops and in another order find their
// own answers.
func TestAnswersFindTheirQuestions(t *testing.T) {
	onStores(t, func(h *house) {
		order := []int{0, 1, 2}
		app := must(flow.New("many", func(ctx context.Context, _ int) (string, error) {
			answers := make([]string, len(order))
			errs := make([]error, len(order))
			var all sync.WaitGroup
			for _, i := range order {
				one := func() {
					a, err := gate.Ask[any](ctx, gate.Question{Name: "item", Text: fmt.Sprint("item ", i)})
					answers[i], errs[i] = fmt.Sprint(i, a.Verdict, a.By), err
				}
				if order[0] == 0 {
					all.Go(one)
				} else {
					one()
				}
			}
			all.Wait()
			return strings.Join(answers, ", "), errors.Join(errs...)
		}).Open(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", 0))(h)
		for _, g := range h.inbox("t") {
			switch g.Text {
			case "item 0":
				h.decide(g.ID, posthouse.Approve, "ann")
			case "item 2":
				h.decide(g.ID, posthouse.Reject, "cid")
			}
		}
		order = []int{2, 1, 0}
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		if g.Text != "item 1" || g.Supersedes != "" {
			h.Fatalf("%+v", g)
		}
		h.decide(g.ID, posthouse.Approve, "bob")
		out := must(app.Resume(h.Context(), "t"))(h)
		if out.Output != "0 approve ann, 1 approve bob, 2 reject cid" && out.Output != "0approveann, 1approvebob, 2rejectcid" {
			h.Fatal(out.Output)
		}
	})
}

// A judge's yes is to one content.
func TestJudgementIsBoundToo(t *testing.T) {
	onStores(t, func(h *house) {
		calls := 0
		build := func() *graph.App[payment] {
			g := graph.New[payment]("judged")
			g.Node("pay", func(ctx context.Context, s *payment) error {
				a, err := gate.Ask[any](ctx, gate.Question{Name: "pay", Show: s.Amount, Auto: &gate.Auto{
					Judge: func(_ context.Context, g *posthouse.Gate) (gate.Judgement, error) {
						calls++
						if string(g.Payload) == "10" {
							return gate.Judgement{Verdict: posthouse.Approve, Confidence: 1}, nil
						}
						return gate.Judgement{Verdict: posthouse.Reject, Confidence: 0.5, Reason: "too much"}, nil
					},
				}})
				if err != nil {
					return err
				}
				if _, err := gate.Ask[any](ctx, gate.Question{Name: "when?"}); err != nil {
					return err
				}
				s.Paid = append(s.Paid, fmt.Sprint(s.Amount, " ", a.By))
				return nil
			})
			g.Edge(graph.Start, "pay")
			g.Edge("pay", graph.End)
			return must(g.Compile(h.ledger, nil))(h)
		}
		app := build()
		must(app.Run(h.Context(), "t", payment{Amount: 10}))(h)
		must(app.Update(h.Context(), "t", func(s *payment) { s.Amount = 99 }))(h)
		h.restart()
		must(build().Resume(h.Context(), "t"))(h)
		var asked *posthouse.Gate
		for _, g := range h.inbox("t") {
			if g.Name == "pay" {
				asked = g
			}
		}
		if calls != 2 || asked == nil || string(asked.Payload) != "99" || !strings.Contains(asked.Note, "too much") {
			h.Fatalf("the judge was called %d times; asked %+v", calls, asked)
		}
	})
}

// A question that differs each time it is asked interrupts the branch, at once in
// the process that opened it and at the second time in others.
func TestUnstableQuestion(t *testing.T) {
	onStores(t, func(h *house) {
		n := 0
		build := func() *graph.App[payment] {
			g := graph.New[payment]("clock")
			g.Node("ask", func(ctx context.Context, s *payment) error {
				n++
				_, err := gate.Ask[any](ctx, gate.Question{Name: "go", Show: map[string]any{"at": n, "amount": s.Amount}})
				return err
			})
			g.Edge(graph.Start, "ask")
			g.Edge("ask", graph.End)
			return must(g.Compile(h.ledger, nil))(h)
		}
		unstable := func(thread string, err error) {
			h.Helper()
			e, ok := errors.AsType[*engine.ChangedError](err)
			if !ok || e.Field != "payload.at" || !errors.Is(err, posthouse.ErrInvalid) {
				h.Fatal(err)
			}
			info := must(h.ledger.Thread(h.Context(), thread))(h)
			if info.Status != posthouse.StatusInterrupted {
				h.Fatal(info.Status)
			}
		}
		app := build()
		must(app.Run(h.Context(), "same", payment{}))(h)
		h.decide(h.only("same").ID, posthouse.Approve, "alice")
		_, err := app.Resume(h.Context(), "same")
		unstable("same", err)

		must(build().Run(h.Context(), "other", payment{}))(h)
		h.decide(h.only("other").ID, posthouse.Approve, "alice")
		must(build().Resume(h.Context(), "other"))(h)
		h.decide(h.only("other").ID, posthouse.Approve, "alice")
		_, err = build().Resume(h.Context(), "other")
		unstable("other", err)
	})
}

// An answer that the rules of today would not have let pass is no answer; one that
// was rightly given stands when other people are assigned.
func TestStricterRules(t *testing.T) {
	q := func(change func(*gate.Question)) gate.Question {
		q := gate.Question{Name: "ok", Text: "Go?", RequestedBy: "rita", AllowRequester: true}
		if change != nil {
			change(&q)
		}
		return q
	}
	for name, tc := range map[string]struct {
		now   func(*gate.Question)
		again bool
	}{
		"unchanged":   {nil, false},
		"assignees":   {func(q *gate.Question) { q.Assignees = []string{"others"} }, false},
		"escalation":  {func(q *gate.Question) { q.Expires = time.Minute }, false},
		"quorum":      {func(q *gate.Question) { q.Quorum = &posthouse.Quorum{Need: 2} }, true},
		"four eyes":   {func(q *gate.Question) { q.FourEyes, q.AllowRequester = true, false }, true},
		"requester":   {func(q *gate.Question) { q.AllowRequester = false }, true},
		"verdicts":    {func(q *gate.Question) { q.Verdicts = []posthouse.Verdict{posthouse.Respond} }, true},
		"other label": {func(q *gate.Question) { q.Labels = map[string]string{"a": "b"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				build := func(q gate.Question) *flow.App[int, string] {
					return must(flow.New("rules", func(ctx context.Context, _ int) (string, error) {
						a, err := gate.Ask[any](ctx, q)
						return a.By, err
					}).Open(h.ledger, nil))(h)
				}
				must(build(q(nil)).Run(h.Context(), "t", 0))(h)
				h.decide(h.only("t").ID, posthouse.Approve, "rita")
				out := must(build(q(tc.now)).Resume(h.Context(), "t"))(h)
				if again := len(out.Waiting) == 1; again != tc.again {
					h.Fatalf("output %+v", out)
				}
				if tc.again && !strings.Contains(out.Waiting[0].Note, "does not count any more") {
					h.Fatal(out.Waiting[0].Note)
				}
			})
		})
	}
}
