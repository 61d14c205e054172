package snippets_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

func Example_dagnatsCheckpoint() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	summarizePart := func(_ context.Context, part string) (string, error) { return strings.ToUpper(part), nil }
	//doc:checkpoint
	summarize := flow.New("summarize", func(ctx context.Context, parts []string) (string, error) {
		var sums []string
		for _, part := range parts { // a crash at item 73 goes on at item 73
			sum, err := step.Do(ctx, "part", func(ctx context.Context) (string, error) { return summarizePart(ctx, part) })
			if err != nil {
				return "", err // Fail: what is done stays done
			}
			sums = append(sums, sum)
		}
		return strings.Join(sums, " "), nil // Complete
	})
	app := must(summarize.Open(led, nil))
	out := must(app.Run(ctx, "run-1", []string{"one", "two"}))
	//doc:end
	fmt.Println(out.Output)
	// Output: ONE TWO
}

func Example_dagnatsSlot() {
	ctx := context.Background()
	//doc:slot
	store := memstore.New()
	key := posthouse.SlotKey{Thread: "run-1", Step: "summarize"} // {runID}.{stepID}

	_, err := store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet}) // LoadCheckpoint
	fmt.Println(errors.Is(err, posthouse.ErrNotFound))

	s := must(store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(`{"done":73}`), Fence: 2})) // Checkpoint
	fmt.Println(s.Revision > 0)

	_, err = store.Slot(ctx, key, posthouse.SlotOp{ // an attempt that was overtaken
		Verb: posthouse.SlotPut, Value: []byte(`{"done":1}`), Revision: posthouse.AnyRevision, Fence: 1,
	})
	fmt.Println(errors.Is(err, posthouse.ErrFenced))
	//doc:end
	// Output:
	// true
	// true
	// true
}

// A Chat is the state of an agent loop.
type Chat struct {
	Messages []string `posthouse:"append"`
	Done     bool
}

func Example_dagnatsLoop() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	callLLM := func(_ context.Context, m []string) (string, error) { return fmt.Sprintf("thought %d", len(m)), nil }
	//doc:loop
	g := graph.New[Chat]("llm-agent")
	g.Node("think", func(ctx context.Context, s *Chat) error {
		reply, err := step.Do(ctx, "llm", func(ctx context.Context) (string, error) { return callLLM(ctx, s.Messages) })
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, reply) // stored as one message
		s.Done = len(s.Messages) == 4
		return nil
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 4}})
	g.Edge(graph.Start, "think")
	g.Route("think", func(s *Chat) string {
		if s.Done {
			return graph.End // Complete
		}
		return "think" // Continue
	}, "think", graph.End)
	app := must(g.Compile(led, &graph.CompileOptions{RecursionLimit: 20})) // MaxIterations
	//doc:end
	out := must(app.Run(ctx, "run-1", Chat{Messages: []string{"hello"}}))
	fmt.Println(out.State.Messages)
	// Output: [hello thought 1 thought 2 thought 3]
}

func Example_dagnatsPause() {
	ctx := context.Background()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	led := must(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }}))
	tries := 0
	callAPI := func(context.Context) (string, error) {
		if tries++; tries == 1 {
			return "", errRateLimited
		}
		return "result", nil
	}
	//doc:pause
	f := flow.New("rate-limited", func(ctx context.Context, _ string) (string, error) {
		return step.DoWith(ctx, "call", step.Options{
			Retry:   posthouse.RetryPolicy{MaxAttempts: 6, InitialDelay: 30 * time.Second, Backoff: posthouse.Fixed},
			RetryOn: func(err error) bool { return errors.Is(err, errRateLimited) },
		}, callAPI)
	})
	//doc:end
	app := must(f.Open(led, nil))
	out := must(app.Run(ctx, "run-1", ""))
	fmt.Println(out.Status, out.Waiting[0].Kind, out.Waiting[0].ExpiresAt.Sub(now))
	now = now.Add(30 * time.Second)
	fmt.Println(must(app.Resume(ctx, "run-1")).Output) // a runner does this
	// Output:
	// waiting timer 30s
	// result
}

var errRateLimited = errors.New("rate limited")

func Example_dagnatsWaits() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	//doc:waits
	f := flow.New("order", func(ctx context.Context, order string) (string, error) {
		payment, err := step.Signal[string](ctx, "paid", step.SignalOptions{Timeout: 24 * time.Hour}) // WaitSignal
		if err != nil {
			return "", err
		}
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ship", Show: payment}) // approval step
		if err != nil {
			return "", err
		}
		if !a.Approved() {
			return "rejected by " + a.By, nil
		}
		return "shipped", step.Sleep(ctx, "return window", 0) // sleep step
	})
	app := must(f.Open(led, nil))
	must(app.Run(ctx, "order-1", "lamp"))
	must(led.Signal(ctx, "order-1", posthouse.Signal{Name: "paid", Value: json.RawMessage(`"card 42"`), By: "bank"}))
	out := must(app.Resume(ctx, "order-1"))
	must(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	out = must(app.Resume(ctx, "order-1"))
	//doc:end
	fmt.Println(out.Status, out.Output)
	// Output: done shipped
}

func Example_dagnatsMap() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	type Crawl struct {
		URLs  []string
		Sizes map[string]int `posthouse:"merge"`
	}
	g := graph.New[Crawl]("crawl")
	//doc:map
	g.Node("list", func(_ context.Context, s *Crawl) error { s.URLs = []string{"a", "bb", "ccc"}; return nil })
	graph.Task(g, "fetch", func(ctx context.Context, url string, out *Crawl) error {
		out.Sizes = map[string]int{url: len(url)}
		return nil
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3}})
	g.Map("list", func(s *Crawl) (sends []graph.Send) {
		for _, url := range s.URLs {
			sends = append(sends, graph.Send{Node: "fetch", Input: url})
		}
		return sends
	}, "fetch")
	//doc:end
	g.Edge(graph.Start, "list")
	g.Edge("fetch", graph.End)
	app := must(g.Compile(led, &graph.CompileOptions{Concurrency: 2}))
	fmt.Println(must(app.Run(ctx, "t", Crawl{})).State.Sizes)
	// Output: map[a:1 bb:2 ccc:3]
}
