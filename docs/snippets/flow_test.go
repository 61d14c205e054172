package snippets_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Sale struct {
	Item  string
	Price int
}

func charge(_ context.Context, _ Sale, key string) (string, error) { return "charge " + key, nil }
func refundCharge(context.Context, string) (string, error)         { return "refunded", nil }
func ship(context.Context, Sale) (string, error)                   { return "shipped", nil }

//doc:order
func order(ctx context.Context, in Sale) (string, error) {
	paid, err := step.Do(ctx, "charge", func(ctx context.Context) (string, error) { return charge(ctx, in, step.Key(ctx)) })
	if err != nil {
		return "", err
	}
	a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ship", Text: "Ship the " + in.Item + "?", Show: paid})
	if err != nil {
		return "", err // posthouse.ErrWaiting: the thread is parked, nothing is held
	}
	if !a.Approved() {
		return step.Do(ctx, "refund", func(ctx context.Context) (string, error) { return refundCharge(ctx, paid) })
	}
	return step.Do(ctx, "ship", func(ctx context.Context) (string, error) { return ship(ctx, in) })
}

//doc:end

//doc:select
func packed(ctx context.Context, in Sale) (string, error) {
	first, err := step.Select(ctx, "pack",
		step.When("packed", func(ctx context.Context) (string, error) { return step.Remote[string](ctx, "worker", "pack", in) }),
		step.When("withdrawn", func(ctx context.Context) (string, error) {
			return step.Signal[string](ctx, "withdrawn", step.SignalOptions{})
		}))
	return first.Case + ": " + first.Value, err
}

//doc:end

func Example_flowSelect() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	app := must(flow.New("pack", packed).Open(led, nil))
	out := must(app.Run(ctx, "order-1", Sale{"lamp", 40}))
	fmt.Println(out.Status, "for", len(out.Waiting))
	must(led.Signal(ctx, "order-1", posthouse.Signal{Name: "withdrawn", Value: json.RawMessage(`"too late"`)}))
	out = must(app.Resume(ctx, "order-1"))
	fmt.Println(out.Status, out.Output)
	// Output:
	// waiting for 2
	// done withdrawn: too late
}

func Example_flowRun() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	//doc:run
	app := must(flow.New("order", order).Open(led, nil))
	out := must(app.Run(ctx, "order-1234", Sale{"lamp", 40}))
	fmt.Println(out.Status, out.Waiting[0].Text)

	// A week and a restart later, anywhere:
	must(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	out = must(app.Resume(ctx, "order-1234")) // or a runner does
	fmt.Println(out.Status, out.Output)
	//doc:end
	//doc:history
	for s, err := range app.History(ctx, "order-1234") {
		ok(err)
		fmt.Println(s.Kind, s.Node, s.Status)
	}
	charged := must(app.State(ctx, "order-1234", flow.StateOptions{Node: "charge"}))
	again := must(app.Replay(ctx, charged.ID)) // charged once; asked again, on a branch of its own
	//doc:end
	fmt.Println(again.Branch, again.Status)
	// Output:
	// waiting Ship the lamp?
	// done shipped
	// node order done
	// event ship running
	// wait order waiting
	// event charge running
	// input  running
	// fork-1 waiting
}

func Example_flowVersions() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	report := func(_ context.Context, month string) (string, error) { return "report of " + month, nil }
	app := must(flow.New("report", report).Open(led, nil))
	//doc:versions
	may := must(app.Run(ctx, "report", "May", flow.RunOptions{Labels: map[string]string{"for": "board"}}))
	version := must(app.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{"may"}}))
	june := must(app.Run(ctx, "report", "June")) // the name is free: it starts over
	old := must(app.Version(ctx, "report", "may"))

	copied := must(app.Copy(ctx, "report", "report-draft", nil)) // the whole history, to try something in
	diff := must(app.Compare(ctx, may.Checkpoint, june.Checkpoint))
	//doc:end
	fmt.Println(version.Version, old.State.Output, copied.Output, diff.From.Input, diff.To.Input, len(diff.Parts))
	// Output: 1 report of May report of June May June 2
}

func Example_flowRunner() {
	ctx, stop := context.WithCancel(context.Background())
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(flow.New("order", order).Open(led, nil))
	//doc:runner
	r := must(runner.New(led, &runner.Options{Programs: []posthouse.Program{app}}))
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }() // until ctx ends; then it drains
	//doc:end
	out := must(app.Run(ctx, "order-1", Sale{"lamp", 40}))
	g := must(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	head := must(r.Wait(ctx, "order-1", "main", g.Decision.Seq))
	fmt.Println(head.Status)
	stop()
	fmt.Println(<-ended)
	// Output:
	// done
	// <nil>
}

func Example_flowIdempotent() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(flow.New("order", order).Open(led, nil))
	//doc:once
	first := must(app.Run(ctx, "order-1", Sale{"lamp", 40}, flow.RunOptions{Run: "request-77"}))
	again := must(app.Run(ctx, "order-1", Sale{"lamp", 40}, flow.RunOptions{Run: "request-77"})) // sent twice: executed once
	//doc:end
	fmt.Println(first.Checkpoint == again.Checkpoint, again.Status)
	// Output: true waiting
}

func Example_flowParallel() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	fetch := func(_ context.Context, city string) (int, error) { return len(city), nil }
	f := flow.New("prices", func(ctx context.Context, cities []string) (int, error) {
		//doc:parallel
		prices, err := step.Map(ctx, "price", cities, fetch, step.GroupOptions{Concurrency: 8}) // one step for each

		g := step.NewGroup(ctx, nil)
		rate := step.Go(g, "rate", func(context.Context) (int, error) { return 2, nil })
		fee := step.Go(g, "fee", func(context.Context) (int, error) { return 1, nil })
		if err := errors.Join(err, g.Wait()); err != nil {
			return 0, err
		}
		//doc:end
		return prices[0]*rate.Value() + fee.Value(), nil
	})
	fmt.Println(must(must(f.Open(led, nil)).Run(ctx, "t", []string{"Rome", "Oslo"})).Output)
	// Output: 9
}

func Example_flowWaits() {
	ctx := context.Background()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	led := must(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }}))
	f := flow.New("reminder", func(ctx context.Context, _ string) (string, error) {
		//doc:waits
		if err := step.Sleep(ctx, "a day", 24*time.Hour); err != nil {
			return "", err
		}
		paid, err := step.Signal[string](ctx, "paid", step.SignalOptions{Timeout: 48 * time.Hour})
		if errors.Is(err, posthouse.ErrExpired) {
			return "cancelled: nobody paid", nil
		}
		if err != nil {
			return "", err
		}
		//doc:end
		return paid, nil
	})
	app := must(f.Open(led, nil))
	fmt.Println(must(app.Run(ctx, "t", "")).Waiting[0].Kind)
	now = now.Add(24 * time.Hour)
	fmt.Println(must(app.Resume(ctx, "t")).Waiting[0].Kind)
	//doc:signal
	must(led.Signal(ctx, "t", posthouse.Signal{ID: "payment-9", Name: "paid", Value: json.RawMessage(`"by card"`), By: "bank"}))
	//doc:end
	fmt.Println(must(app.Resume(ctx, "t")).Output)
	// Output:
	// timer
	// signal
	// by card
}

func Example_flowRetry() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	tries := 0
	flaky := func(context.Context) (string, error) {
		if tries++; tries < 3 {
			return "", errors.New("503")
		}
		return "sent", nil
	}
	f := flow.New("mail", func(ctx context.Context, _ string) (string, error) {
		//doc:retry
		return step.DoWith(ctx, "send", step.Options{
			Effect:  posthouse.EffectExternal,
			Timeout: 30 * time.Second, // of one attempt
			Retry:   posthouse.RetryPolicy{MaxAttempts: 6, InitialDelay: time.Millisecond, Backoff: posthouse.Exponential, Jitter: 0.2},
		}, flaky)
		//doc:end
	})
	fmt.Println(must(must(f.Open(led, nil)).Run(ctx, "t", "")).Output, tries)
	// Output: sent 3
}

func Example_flowNote() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	f := flow.New("plan", func(ctx context.Context, order string) (string, error) {
		//doc:note
		return step.Do(ctx, "plan", func(ctx context.Context) (string, error) {
			reply := "ship it tomorrow" // what the model said
			err := step.Note(ctx, posthouse.Note{
				Line: "asks for a plan", Model: "model-1", Input: order, InputTokens: 812, OutputTokens: 96, Cost: "0.0042 USD",
			})
			return reply, err
		})
		//doc:end
	})
	must(must(f.Open(led, nil)).Run(ctx, "order-1", "one lamp"))
	head := must(led.Latest(ctx, ledger.LatestQuery{Thread: "order-1"}))
	made := must(led.GetHeader(ctx, head.Parent)) // by the step
	for _, e := range must(ledger.Steps(ctx, led, made)) {
		for _, n := range e.Notes {
			fmt.Println(e.Step.Name, n.Model, n.OutputTokens)
		}
	}
	// Output: plan model-1 96
}

func Example_flowClock() {
	ctx := context.Background()
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	led := must(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return at }}))
	f := flow.New("clock", func(ctx context.Context, _ string) (string, error) {
		//doc:clock
		now, err := step.Now(ctx) // recorded: the same each time the function is executed
		if err != nil {
			return "", err
		}
		id, err := step.NewID(ctx)
		//doc:end
		return fmt.Sprint(now.Year(), len(id)), err
	})
	fmt.Println(must(must(f.Open(led, nil)).Run(ctx, "t", "")).Output)
	// Output: 2026 36
}

func Example_flowLoop() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	//doc:previous
	counter := flow.New("counter", func(ctx context.Context, add int) (int, error) {
		total, _, err := flow.Previous[int](ctx) // what the execution before returned
		return total + add, err
	})
	//doc:end
	app := must(counter.Open(led, nil))
	must(app.Run(ctx, "t", 2))
	fmt.Println(must(app.Run(ctx, "t", 3)).Output)
	// Output: 5
}

func Example_flowCancel() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(flow.New("order", order).Open(led, nil))
	must(app.Run(ctx, "order-1", Sale{"lamp", 40}))
	//doc:cancel
	head := must(led.Cancel(ctx, "order-1", &ledger.CancelOptions{By: "alice", Reason: "changed her mind"}))
	fmt.Println(head.Status, must(app.Resume(ctx, "order-1")).Status)
	//doc:end
	// Output: cancelled cancelled
}

func Example_flowStream() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(flow.New("ask", func(ctx context.Context, question string) (string, error) {
		return step.Do(ctx, "llm", func(ctx context.Context) (string, error) {
			step.Token(ctx, "It depends.")
			return "It depends.", nil
		})
	}).Open(led, nil))
	//doc:stream
	o := flow.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages, runs.StreamUpdates}}
	for e, err := range app.Stream(ctx, "chat-1", "Is it true?", o) {
		ok(err)
		switch e.Kind {
		case runs.EventMessage: // text as the model says it
			fmt.Print(e.Text)
		case runs.EventUpdate: // a step is on record
			fmt.Println("", e.Node, len(e.Updates))
		case runs.EventEnd, runs.EventPark: // the last: done or cancelled, or it waits
			fmt.Println(e.Result.Status, e.Output)
		}
	}
	//doc:end
	// Output:
	// It depends. llm 1
	//  ask 1
	// done It depends.
}

func Example_flowStart() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	thinks := make(chan bool, 1)
	app := must(flow.New("chat", func(ctx context.Context, message string) (string, error) {
		if message == "never mind" {
			return "fine", nil
		}
		thinks <- true
		<-ctx.Done()
		return "", ctx.Err()
	}).Open(led, nil))
	//doc:start
	h := must(app.Start(ctx, "chat-1", "Is it true?"))
	<-thinks
	// A second message comes: it cancels the first, and has the thread next.
	out := must(app.Run(ctx, "chat-1", "never mind", flow.RunOptions{OnBusy: runs.Interrupt}))
	fmt.Println(out.Output)
	first := must(h.Result())
	fmt.Println(h.Reason(), first.Status)
	//doc:end
	// Output:
	// fine
	// cancelled cancelled
}
