package worker_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// A handler proposes an effect itself and runs it once somebody has approved it, on what they
// approved. Here alice lowers the amount.
func Example_grant() {
	led, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()
	app, err := flow.New("order", func(ctx context.Context, amount int) (string, error) {
		return step.Remote[string](ctx, "pay", "pay", amount)
	}).Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := dispatch.New(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := worker.New(d, &worker.Options{Name: "desk-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	worker.Handle(w, "pay", func(t worker.Task, amount int) (string, error) {
		grant, err := gate.Propose(t.Context(), gate.Question{Name: "pay", Text: "Pay this?"}, amount)
		if err != nil {
			return "", err // posthouse.ErrWaiting: the task is parked until somebody decides
		}
		return gate.Act(t.Context(), "pay", grant, func(ctx context.Context, approved int) (string, error) {
			return fmt.Sprintf("paid %d, approved by %s", approved, gate.Granted(ctx).Decision.By), nil // give step.Key(ctx) to the bank
		})
	})

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for _, run := range []func(context.Context) error{r.Run, d.Run, w.Run} {
		go func() { _ = run(ctx) }()
	}
	if _, err := app.Run(ctx, "order-1", 10); err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range led.Watch(ctx, ledger.WatchQuery{Thread: "order-1"}) {
		switch {
		case err != nil:
			fmt.Println(err)
			return
		case e.Gate != nil && e.Gate.AsksPeople():
			_, err = led.Decide(ctx, e.Gate.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte("7")})
		case e.Checkpoint != nil && e.Checkpoint.Status == posthouse.StatusDone:
			res, err := app.Result(ctx, "order-1")
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(res.Output)
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output: paid 7, approved by alice
}
