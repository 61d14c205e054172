package runner_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

type Refund struct {
	Request string
	Paid    bool
}

// A runner goes on with a thread as soon as its gate is decided.
func Example() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graph.New[Refund]("refund")
	g.Node("approve", func(ctx context.Context, r *Refund) error {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "refund", Show: r.Request})
		if err != nil {
			return err
		}
		r.Paid = a.Approved()
		return nil
	})
	g.Edge(graph.Start, "approve")
	g.Edge("approve", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- r.Run(ctx) }()

	out, err := app.Run(ctx, "order-1234", Refund{Request: "order 1234"})
	if err != nil {
		fmt.Println(err)
		return
	}
	decided, err := led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := r.Wait(ctx, "order-1234", posthouse.MainBranch, decided.Decision.Seq)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := app.State(ctx, "order-1234")
	fmt.Println(head.Status, after.State.Paid, err)

	cancel()
	fmt.Println(<-stopped)
	// Output:
	// done true <nil>
	// <nil>
}
