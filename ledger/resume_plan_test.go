package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

var errBank = errors.New("the bank did not answer")

// payment is a flow that looks something up, asks, and pays under the approval. pay says what becomes of it.
func payment(t *testing.T, l *ledger.Ledger, pay func(ctx context.Context) (string, error)) *flow.App[int, string] {
	return must.Get(flow.New("payment", func(ctx context.Context, amount int) (string, error) {
		if _, err := step.Do(ctx, "look", func(context.Context) (int, error) { return amount, nil }); err != nil {
			return "", err
		}
		g, err := gate.Propose(ctx, gate.Question{Name: "payment", Text: "Pay this?", ValidFor: time.Hour}, amount)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", g, func(ctx context.Context, _ int) (string, error) { return pay(ctx) })
	}).Open(l, nil))(t)
}

// approved runs a payment up to its approval, and on.
func approved(t *testing.T, l *ledger.Ledger, app *flow.App[int, string], thread string) {
	out := must.Get(app.Run(t.Context(), thread, 3300))(t)
	must.Get(l.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))(t)
	_, _ = app.Resume(t.Context(), thread)
}

// TestPlanResumeSaysWhatActsAgain: a plan names each effect that a resume would try again, with the content and
// the decision that it acts under, and says where people are asked before.
func TestPlanResumeSaysWhatActsAgain(t *testing.T) {
	ctx, now := t.Context(), time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator(), Now: func() time.Time { return now }}))(t)
	app := payment(t, l, func(context.Context) (string, error) { return "", gate.NotDone(errBank) })
	approved(t, l, app, "invoice-1")
	before := must.Get(l.Thread(ctx, "invoice-1"))(t)

	p := must.Get(ledger.PlanResume(ctx, l, "invoice-1", ""))(t)
	if p.Status != posthouse.StatusFailed || p.Branch != "main" || p.Head != before.Branches[0].Head || len(p.Acts) != 1 || fmt.Sprint(names(p.Kept)) != "[look]" {
		t.Fatalf("the plan is %+v", p)
	}
	a := p.Acts[0]
	if a.Name != "pay" || a.Attempt != 2 || a.Status != grants.Decided || a.Approval != grants.ApprovalUsable || a.Asks || string(a.Content) != "3300" || a.Decision.By != "carol" || a.Question != "Pay this?" {
		t.Errorf("it acts by %+v", a)
	}
	if a.Error != errBank.Error() {
		t.Errorf("the last attempt failed with %q, want %q", a.Error, errBank)
	}
	if after := must.Get(l.Thread(ctx, "invoice-1"))(t); after.Tail != before.Tail {
		t.Error("the plan wrote something")
	}
	_, _ = app.Resume(ctx, "invoice-1")
	p = must.Get(ledger.PlanResume(ctx, l, "invoice-1", "main"))(t)
	if len(p.Acts) != 1 || p.Acts[0].Attempt != 3 {
		t.Errorf("after another attempt it acts by %+v", p.Acts)
	}

	now = now.Add(2 * time.Hour) // the approval has lapsed
	p = must.Get(ledger.PlanResume(ctx, l, "invoice-1", ""))(t)
	if len(p.Acts) != 1 || p.Acts[0].Approval != grants.ApprovalLapsed || !p.Acts[0].Asks {
		t.Errorf("once the approval has lapsed it acts by %+v", p.Acts)
	}
}

// TestPlanResumeOfAnUnknownOutcome: an attempt that may have acted is no attempt that failed. People are asked at once
// what became of it, and there is nothing to resume. Once they gave it up it does not act.
func TestPlanResumeOfAnUnknownOutcome(t *testing.T) {
	ctx := t.Context()
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(t)
	app := payment(t, l, func(context.Context) (string, error) { return "", fmt.Errorf("lost: %w", posthouse.ErrUnknown) })
	approved(t, l, app, "invoice-2")
	info := must.Get(l.Thread(ctx, "invoice-2"))(t)
	if info.Status != posthouse.StatusWaiting {
		t.Fatalf("the thread is %s, want one that asks what became of it", info.Status)
	}
	if _, err := ledger.PlanResume(ctx, l, "invoice-2", ""); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("a branch that waits: %v", err)
	}
	must.Get(l.Decide(ctx, info.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.GiveUp, By: "dana"}))(t)
	_, _ = app.Resume(ctx, "invoice-2")
	p := must.Get(ledger.PlanResume(ctx, l, "invoice-2", ""))(t)
	if len(p.Acts) != 1 || p.Acts[0].Outcome != posthouse.GiveUp || p.Acts[0].Asks || p.Acts[0].Status != grants.Unknown {
		t.Errorf("given up, it acts by %+v", p.Acts)
	}
}

// TestPlanResumeRefuses: what a resume would refuse is refused.
func TestPlanResumeRefuses(t *testing.T) {
	ctx := t.Context()
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(t)
	approved(t, l, payment(t, l, func(context.Context) (string, error) { return "paid", nil }), "invoice-3")
	for _, c := range []struct {
		thread, branch string
		want           error
	}{{"invoice-3", "", posthouse.ErrConflict}, {"invoice-3", "fork-1", posthouse.ErrNotFound}, {"nothing", "", posthouse.ErrNotFound}} {
		if _, err := ledger.PlanResume(ctx, l, c.thread, c.branch); !errors.Is(err, c.want) {
			t.Errorf("branch %q of %s: %v, want %v", c.branch, c.thread, err, c.want)
		}
	}
}

// TestPlanResumeOfAFork: a fork that has not run says what its source did after the place of the fork, and nothing of
// the source's approval counts for it.
func TestPlanResumeOfAFork(t *testing.T) {
	ctx := t.Context()
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(t)
	app := payment(t, l, func(context.Context) (string, error) { return "", errBank })
	approved(t, l, app, "invoice-4")
	var first posthouse.ID
	for h, err := range l.List(ctx, posthouse.Query{Thread: "invoice-4", Limit: 1}) {
		must.Do(t, err)
		first = h.ID
	}
	f := must.Get(l.Fork(ctx, first, nil))(t)
	p := must.Get(ledger.PlanResume(ctx, l, "invoice-4", f.Branch))(t)
	if p.Fork == nil || len(p.Fork.Asks) != 1 || len(p.Acts) != 0 || p.Fork.Branch != f.Branch {
		t.Errorf("the plan of the fork is %+v, of its source %+v", p, p.Fork)
	}
}

// Look at what a resume would run and do, before it does.
func ExamplePlanResume() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	_, err = led.Commit(ctx, &ledger.Draft{Thread: "order-1234", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"pay"}, Error: "no account",
	}})
	if err != nil {
		panic(err)
	}
	plan, err := ledger.PlanResume(ctx, led, "order-1234", "")
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Status, "with", plan.Error)
	fmt.Println("runs", plan.Next, "and acts under", len(plan.Acts), "decisions")
	// Output:
	// failed with no account
	// runs [pay] and acts under 0 decisions
}
