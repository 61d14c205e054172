package snippets_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestReadmeProgram runs the program of README.md, on a disk.
func TestReadmeProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := t.Context()
	type Order struct {
		ID     string
		Amount int
	}
	asked, paid := 0, 0
	askModel := func(context.Context, Order) (string, error) { asked++; return "the order is small, refund it", nil }
	pay := func(_ context.Context, o Order, _ string) (string, error) { paid += o.Amount; return "receipt 1", nil }

	//doc:program
	refund := func(ctx context.Context, o Order) (string, error) {
		advice, err := step.Do(ctx, "advise", func(ctx context.Context) (string, error) { return askModel(ctx, o) })
		if err != nil {
			return "", err
		}
		answer, err := gate.Ask[struct{}](ctx, gate.Question{Name: "approve", Text: "Refund " + o.ID + "?", Show: advice})
		if err != nil {
			return "", err // posthouse.ErrWaiting: parked in the store, with no goroutine
		}
		if !answer.Approved() {
			return "rejected by " + answer.By, nil
		}
		return step.Do(ctx, "pay", func(ctx context.Context) (string, error) { return pay(ctx, o, step.Key(ctx)) })
	}

	store := must(sqlitestore.Open(ctx, "posthouse.db", nil))
	led := must(ledger.Open(store, nil))
	app := must(flow.New("refund", refund).Open(led, nil))

	out := must(app.Run(ctx, "order-1234", Order{"1234", 40}))
	fmt.Println(out.Status, out.Waiting[0].Text) // waiting Refund 1234?
	// A week and a restart later, in any process:
	must(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	out = must(app.Resume(ctx, "order-1234")) // pays; the model is not asked again
	//doc:end

	if out.Status != posthouse.StatusDone || out.Output != "receipt 1" || asked != 1 || paid != 40 {
		t.Errorf("status %s, output %q, asked the model %d times, paid %d", out.Status, out.Output, asked, paid)
	}
	ok(led.Close())
	ok(store.Close())
}
