package snippets_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestConcepts opens what the page opens, and counts how often its model is asked.
func TestConcepts(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, asked := t.Context(), 0
	askModel := func(context.Context, string) (string, error) { asked++; return "refund it", nil }
	refund := func(ctx context.Context, order string) (string, error) {
		//doc:step
		advice, err := step.Do(ctx, "advise", func(ctx context.Context) (string, error) { return askModel(ctx, order) })
		//doc:end
		if err == nil {
			_, err = step.Signal[string](ctx, "go", step.SignalOptions{})
		}
		return advice, err
	}
	//doc:open
	store := must(sqlitestore.Open(ctx, "posthouse.db", nil))
	led := must(ledger.Open(store, nil))
	app := must(flow.New("refund", refund).Open(led, nil))
	//doc:end
	must(app.Run(ctx, "order-1234", "1234"))
	must(led.Signal(ctx, "order-1234", posthouse.Signal{Name: "go", Value: []byte(`""`)}))
	if out := must(app.Resume(ctx, "order-1234")); out.Output != "refund it" || asked != 1 {
		t.Errorf("it comes to %q, and the model was asked %d times", out.Output, asked)
	}
	ok(led.Close())
	ok(store.Close())
}
