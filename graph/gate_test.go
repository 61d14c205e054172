package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// approval asks before it pays; where the route leads depends on the answer.
func approval(calls *int) *graph.Graph[trail] {
	g := graph.New[trail]("approval")
	g.Node("analyze", visit("analyze"))
	g.Node("approve", func(ctx context.Context, s *trail) error {
		s.Nodes = append(s.Nodes, "approve")
		n, err := do(ctx, "llm", func() (int, error) { *calls++; return *calls, nil })
		if err != nil {
			return err
		}
		d, err := ask(ctx, "pay?")
		if err != nil {
			return err
		}
		s.N, s.Go = n, string(d.Verdict)
		return nil
	})
	g.Node("pay", visit("pay"))
	g.Node("refuse", visit("refuse"))
	g.Edge(graph.Start, "analyze")
	g.Edge("analyze", "approve")
	g.Route("approve", func(s *trail) string {
		if s.Go == string(posthouse.Approve) {
			return "pay"
		}
		return "refuse"
	}, "pay", "refuse")
	g.Edge("pay", graph.End)
	g.Edge("refuse", graph.End)
	return g
}

func TestAskParksAndResumes(t *testing.T) {
	for _, test := range []struct {
		verdict posthouse.Verdict
		arm     string
	}{{posthouse.Approve, "pay"}, {posthouse.Reject, "refuse"}} {
		t.Run(string(test.verdict), func(t *testing.T) {
			store, calls := memstore.New(), 0
			l := open(t, store, nil)
			a := compile(t, approval(&calls), l, nil)
			out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
			if out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 || out.Waiting[0].Name != "pay?" {
				t.Fatalf("result %+v", out)
			}
			wantList(t, "what the node changed is discarded", out.State.Nodes, "analyze")
			wantList(t, "next", out.Next, "approve")
			if out.Waiting[0].Checkpoint != out.Checkpoint || out.Waiting[0].Hash.IsZero() {
				t.Fatalf("gate %+v", out.Waiting[0])
			}

			again := must.Get(a.Resume(t.Context(), "t"))(t)
			if again.Checkpoint != out.Checkpoint || again.Waiting[0].ID != out.Waiting[0].ID {
				t.Fatalf("resuming an undecided thread moved it: %+v", again)
			}

			l = open(t, store, nil) // a week and a restart later
			decide(t, l, out.Waiting[0].ID, test.verdict)
			a = compile(t, approval(&calls), l, nil)
			done := must.Get(a.Resume(t.Context(), "t"))(t)
			wantList(t, "only the decided arm runs", done.State.Nodes, "analyze", "approve", test.arm)
			if calls != 1 || done.State.N != 1 {
				t.Fatalf("the step ran %d times", calls)
			}
			wantList(t, "history", kinds(history(t, a, "t")), "node "+test.arm, "node approve", "wait approve", "node analyze", "input")
		})
	}
}

// Several gates of one node: each has its id; the node goes on when all are
// decided, and decisions are not asked for twice.
func TestSeveralGates(t *testing.T) {
	l := newLedger(t)
	g := graph.New[trail]("several")
	g.Node("ask", func(ctx context.Context, s *trail) error {
		var errs []error
		for _, name := range []string{"legal", "finance", "legal"} {
			d, err := ask(ctx, name)
			if err == nil {
				s.Nodes = append(s.Nodes, fmt.Sprintf("%s %s", name, d.Verdict))
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	a := compile(t, g, l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	if len(out.Waiting) != 3 || out.Waiting[0].ID == out.Waiting[2].ID {
		t.Fatalf("waiting %+v", out.Waiting)
	}
	decide(t, l, out.Waiting[1].ID, posthouse.Approve)
	some := must.Get(a.Resume(t.Context(), "t"))(t)
	if some.Status != posthouse.StatusWaiting || len(some.Waiting) != 2 || some.Checkpoint == out.Checkpoint { // the wait is on record again
		t.Fatalf("result %+v", some)
	}
	decide(t, l, out.Waiting[0].ID, posthouse.Reject)
	decide(t, l, out.Waiting[2].ID, posthouse.Approve)
	wantList(t, "answers", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "legal reject", "finance approve", "legal approve")
}

// A node that asks one question after the other waits twice.
func TestQuestionsInARow(t *testing.T) {
	l := newLedger(t)
	g := graph.New[trail]("row")
	g.Node("ask", func(ctx context.Context, s *trail) error {
		for _, name := range []string{"first", "second"} {
			d, err := ask(ctx, name)
			if err != nil {
				return err
			}
			s.Nodes = append(s.Nodes, name+" "+string(d.Verdict))
		}
		return nil
	})
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	a := compile(t, g, l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	if len(out.Waiting) != 1 || out.Waiting[0].Name != "second" {
		t.Fatalf("waiting %+v", out.Waiting)
	}
	decide(t, l, out.Waiting[0].ID, posthouse.Reject)
	wantList(t, "answers", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "first approve", "second reject")
}

// New questions open beside those that are still open.
func TestANewQuestionKeepsTheOpenOnes(t *testing.T) {
	l := newLedger(t)
	g := graph.New[trail]("beside")
	g.Node("ask", func(ctx context.Context, s *trail) error {
		_, err1 := ask(ctx, "one")
		_, err2 := ask(ctx, "two")
		if err2 != nil {
			return errors.Join(err1, err2)
		}
		_, err3 := ask(ctx, "three")
		return errors.Join(err1, err3)
	})
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	a := compile(t, g, l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	one := out.Waiting[0].ID
	decide(t, l, out.Waiting[1].ID, posthouse.Approve)
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	if len(out.Waiting) != 2 || out.Waiting[0].ID != one || out.Waiting[1].Name != "three" {
		t.Fatalf("waiting %+v", out.Waiting)
	}
	decide(t, l, out.Waiting[1].ID, posthouse.Approve)
	decide(t, l, one, posthouse.Approve)
	if out := must.Get(a.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusDone {
		t.Fatalf("result %+v", out)
	}
}

func TestExpiredGate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := open(t, memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	g := graph.New[trail]("expiry")
	g.Node("ask", func(ctx context.Context, s *trail) error {
		task, _ := engine.From(ctx)
		gate, err := task.Gates().Ask(ctx, posthouse.Gate{Name: "q", ExpiresAt: now.Add(time.Hour)})
		if err != nil {
			return err
		}
		s.Go = string(gate.Decision.Verdict)
		return nil
	})
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	a := compile(t, g, l, nil)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	now = now.Add(59 * time.Minute)
	if out := must.Get(a.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusWaiting {
		t.Fatalf("result %+v", out)
	}
	now = now.Add(time.Minute)
	if out := must.Get(a.Resume(t.Context(), "t"))(t); out.State.Go != string(posthouse.Expire) {
		t.Fatalf("result %+v", out)
	}
}

// A node that swallows the answer "wait" parks all the same: no gate is passed
// without a decision.
func TestASwallowedQuestionStillParks(t *testing.T) {
	l := newLedger(t)
	g := graph.New[trail]("swallow")
	g.Node("ask", func(ctx context.Context, s *trail) error { _, _ = ask(ctx, "q"); return nil })
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	out := must.Get(compile(t, g, l, nil).Run(t.Context(), "t", trail{}))(t)
	if out.Status != posthouse.StatusWaiting {
		t.Fatalf("result %+v", out)
	}
}

func TestWaitingWithoutAQuestionIsAnError(t *testing.T) {
	g := graph.New[trail]("nothing")
	g.Node("ask", func(context.Context, *trail) error { return posthouse.ErrWaiting })
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	_, err := compile(t, g, newLedger(t), nil).Run(t.Context(), "t", trail{})
	must.Fail(t, err, posthouse.ErrInvalid)
}

// New input that says so, and an update, cancel an open question.
func TestGoingOnCancelsOpenQuestions(t *testing.T) {
	calls := 0
	l := newLedger(t)
	a := compile(t, approval(&calls), l, nil)
	first := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	_, err := a.Run(t.Context(), "t", trail{})
	must.Fail(t, err, posthouse.ErrConflict)
	second := must.Get(a.Run(t.Context(), "t", trail{}, graph.RunOptions{Withdraw: true}))(t)
	g := must.Get(l.Gate(t.Context(), first.Waiting[0].ID))(t)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Fatalf("gate %+v", g)
	}
	if len(second.Waiting) != 1 || second.Waiting[0].ID == first.Waiting[0].ID || calls != 2 {
		t.Fatalf("waiting %+v, %d calls", second.Waiting, calls)
	}
	must.Get(a.Update(t.Context(), "t", func(s *trail) { s.N = 9 }))(t)
	third := must.Get(a.Resume(t.Context(), "t"))(t)
	if len(third.Waiting) != 1 || third.Waiting[0].ID == second.Waiting[0].ID {
		t.Fatalf("waiting %+v", third.Waiting)
	}
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: "t"}) {
		if err != nil || g.ID != third.Waiting[0].ID {
			t.Fatalf("open gate %+v, error %v", g, err)
		}
	}
}
