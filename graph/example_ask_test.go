package graph_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A Refund needs a person's approval.
type Refund struct {
	Request  string
	Amount   int
	Approved bool
	Paid     int
}

func refundGraph() *graph.Graph[Refund] {
	g := graph.New[Refund]("refund")
	g.Node("approve", func(ctx context.Context, r *Refund) error {
		a, err := gate.Ask[int](ctx, gate.Question{Name: "refund", Show: r.Request, Expires: 48 * time.Hour})
		if err != nil {
			return err // posthouse.ErrWaiting: the thread is parked, nothing is held
		}
		r.Approved = a.Approved()
		if a.Verdict == posthouse.Edit {
			r.Amount = a.Value
		}
		return nil
	})
	g.Node("pay", func(ctx context.Context, r *Refund) error {
		r.Paid = r.Amount
		return nil
	})
	g.Edge(graph.Start, "approve")
	g.Route("approve", func(r *Refund) string {
		if r.Approved {
			return "pay"
		}
		return graph.End
	}, "pay", graph.End)
	g.Edge("pay", graph.End)
	return g
}

// A node asks; the process ends; another one takes the answer and goes on.
func Example_ask() {
	ctx := context.Background()
	store := memstore.New() // or a file: what matters is that it outlives the process

	led, _ := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	app, _ := refundGraph().Compile(led, nil)
	out, err := app.Run(ctx, "order-1234", Refund{Request: "please refund order 1234", Amount: 100})
	fmt.Println(out.Status, out.Waiting[0].Name, out.Next, err)
	led.Close()

	led, _ = ledger.Open(store, &ledger.Options{Validate: gate.Validator()}) // a week and a restart later
	app, _ = refundGraph().Compile(led, nil)
	for g := range led.Gates(ctx, ledger.GateQuery{}) {
		fmt.Printf("%s asks %s about %s\n", g.Thread, g.Name, g.Payload)
		led.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Edit, Value: []byte("80"), By: "alice"})
	}
	out, err = app.Resume(ctx, "order-1234")
	fmt.Println(out.Status, out.State.Paid, err)
	// Output:
	// waiting refund [approve] <nil>
	// order-1234 asks refund about "please refund order 1234"
	// done 80 <nil>
}
