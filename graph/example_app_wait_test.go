package graph_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// A run that began elsewhere is waited for by its thread: until it asks a person, and, once that is
// decided, until it ends.
func ExampleApp_Wait() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	type Refund struct {
		Order string
		Paid  bool
	}
	g := graph.New[Refund]("refund")
	g.Node("pay", func(ctx context.Context, s *Refund) error {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "refund", Text: "Refund order " + s.Order + "?"})
		s.Paid = err == nil && a.Verdict == posthouse.Approve
		return err
	})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	moving, err := runner.New(led, &runner.Options{Programs: app.Programs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- moving.Run(ctx) }()

	// As a server does for POST /api/programs/refund/runs.
	if _, err := app.StartJSON(ctx, "order-1234", json.RawMessage(`{"Order":"1234"}`), nil); err != nil {
		fmt.Println(err)
		return
	}
	asked, err := app.Wait(ctx, "order-1234")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(asked.Status, len(asked.Gates))
	if _, err := led.Decide(ctx, asked.Gates[0], posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		fmt.Println(err)
		return
	}
	done, err := app.Wait(ctx, "order-1234")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Status, done.State.Paid)
	stop()
	fmt.Println(<-ended)
	// Output:
	// waiting 1
	// done true
	// <nil>
}
