package usage_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/usage"
)

func open(t testing.TB) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// asks makes calls of models that are noted, each in a step.
func asks(t testing.TB, l *ledger.Ledger, thread string, notes ...posthouse.Note) {
	t.Helper()
	ask := func(ctx context.Context, n int) (int, error) {
		for i, note := range notes {
			_, err := step.Do(ctx, fmt.Sprint("ask-", i), func(ctx context.Context) (int, error) { return i, step.Note(ctx, note) })
			if err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	app, err := flow.New("ask", ask).Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Run(t.Context(), thread, len(notes)); err != nil {
		t.Fatal(err)
	}
}

// TestReplayAndRetry: a step on record counts once though its flow runs over it again, and each attempt
// that was noted counts, also one that failed.
func TestReplayAndRetry(t *testing.T) {
	l := open(t)
	calls, runs := 0, 0
	once := posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}
	plan := func(ctx context.Context, order string) (string, error) {
		runs++
		_, err := step.DoWith(ctx, "plan", step.Options{Retry: once}, func(ctx context.Context) (string, error) {
			calls++
			if err := step.Note(ctx, posthouse.Note{Model: "m", InputTokens: 10, Cost: "0.10 USD"}); err != nil || calls > 1 {
				return "plan", err
			}
			return "", errors.New("the model was cut off")
		})
		if err != nil {
			return "", err
		}
		_, err = gate.Ask[struct{}](ctx, gate.Question{Name: "ok", Text: "Go on?"})
		return order, err
	}
	app, err := flow.New("plan", plan).Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := app.Run(t.Context(), "order", "1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Resume(t.Context(), "order"); err != nil {
		t.Fatal(err)
	}
	have, err := usage.Of(t.Context(), l, "order")
	if err != nil {
		t.Fatal(err)
	}
	if calls != 2 || runs < 2 {
		t.Fatalf("%d calls in %d runs: nothing was replayed", calls, runs)
	}
	if have.Calls != 2 || have.InputTokens != 20 || len(have.Costs) != 1 || have.Costs[0].String() != "0.20 USD" {
		t.Errorf("two attempts of 0.10 USD are %+v", have.Sum)
	}
}

// TestNewestEntries: of a thread with more entries than are read, the newest count, and it says so.
func TestNewestEntries(t *testing.T) {
	l := open(t)
	for i := range usage.MaxEntries + 5 {
		_, err := l.Commit(t.Context(), &ledger.Draft{Thread: "long", Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusReady, Node: "n",
			Story: posthouse.Story{Attempts: 1, Notes: []posthouse.Note{{Model: "m", InputTokens: int64(i / usage.MaxEntries)}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	have, err := usage.Of(t.Context(), l, "long")
	if err != nil {
		t.Fatal(err)
	}
	if !have.More || have.Calls != usage.MaxEntries || have.InputTokens != 5 {
		t.Errorf("of %d entries: %+v, more %t", usage.MaxEntries+5, have.Sum, have.More)
	}
}

// TestOf: notes add up by model and unit, exactly; what is no amount is counted apart.
func TestOf(t *testing.T) {
	l := open(t)
	asks(t, l, "order",
		posthouse.Note{Model: "large", InputTokens: 812, OutputTokens: 96, Cost: "0.10 USD"},
		posthouse.Note{Model: "large", InputTokens: 1, OutputTokens: 2, Cost: "0.2 USD"},
		posthouse.Note{Model: "small", Cost: "1 EUR"},
		posthouse.Note{Cost: "a lot"},
		posthouse.Note{Line: "thinks"},
	)
	have, err := usage.Of(t.Context(), l, "order")
	if err != nil {
		t.Fatal(err)
	}
	text := func(costs []usage.Cost) (all []string) {
		for _, c := range costs {
			all = append(all, c.String())
		}
		return all
	}
	if have.Calls != 4 || have.InputTokens != 813 || have.OutputTokens != 98 || have.Unread != 1 || have.More {
		t.Errorf("the sum is %+v", have.Sum)
	}
	if want := []string{"1 EUR", "0.30 USD"}; !reflect.DeepEqual(text(have.Costs), want) {
		t.Errorf("the costs are %v, want %v", text(have.Costs), want)
	}
	if len(have.Models) != 3 || have.Models[1].Model != "large" || have.Models[1].Calls != 2 || !reflect.DeepEqual(text(have.Models[1].Costs), []string{"0.30 USD"}) {
		t.Errorf("by model: %+v", have.Models)
	}
}

// TestOfNothing: a thread without notes used nothing, and one that there is not is not found.
func TestOfNothing(t *testing.T) {
	l := open(t)
	asks(t, l, "quiet", posthouse.Note{Line: "thinks"})
	if have, err := usage.Of(t.Context(), l, "quiet"); err != nil || have.Calls != 0 || have.Costs == nil || have.Models == nil {
		t.Errorf("a thread without calls: %+v, %v", have, err)
	}
	if _, err := usage.Of(t.Context(), l, "nothing"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("an unknown thread: %v", err)
	}
}

func ExampleOf() {
	ctx := context.Background()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	defer l.Close()
	plan := func(ctx context.Context, order string) (string, error) {
		return step.Do(ctx, "plan", func(ctx context.Context) (string, error) {
			err := step.Note(ctx, posthouse.Note{Model: "model-1", InputTokens: 812, OutputTokens: 96, Cost: "0.0042 USD"})
			return "ship it tomorrow", err
		})
	}
	app, err := flow.New("plan", plan).Open(l, nil)
	if err != nil {
		panic(err)
	}
	if _, err := app.Run(ctx, "order-1234", "1234"); err != nil {
		panic(err)
	}
	u, err := usage.Of(ctx, l, "order-1234")
	if err != nil {
		panic(err)
	}
	fmt.Println(u.Calls, u.InputTokens, u.OutputTokens, u.Costs[0])
	// Output: 1 812 96 0.0042 USD
}
