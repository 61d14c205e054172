package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/store/memstore"
)

type Refund struct {
	Request string
	Amount  int
}

type Change struct {
	Amount int `json:"amount" jsonschema:"what to refund, in cents"`
}

// A node asks; the thread is parked; a day later somebody answers with other
// values than were proposed.
func Example() {
	ctx := context.Background()
	ledger, err := posthouse.Open(memstore.New(), &posthouse.Options{Validate: gate.Validator()})
	if err != nil {
		fmt.Println(err)
		return
	}

	g := graph.New[Refund]("refund")
	g.Node("approve", func(ctx context.Context, r *Refund) error {
		a, err := gate.Ask[Change](ctx, gate.Question{
			Name: "refund", Text: "Refund this order?", Show: r.Request, RequestedBy: "alice", Expires: 48 * time.Hour,
		})
		if err != nil {
			return err
		}
		switch a.Verdict {
		case posthouse.Edit:
			r.Amount = a.Value.Amount
		case posthouse.Reject, posthouse.Expire:
			r.Amount = 0
		}
		return nil
	})
	g.Edge(graph.Start, "approve")
	g.Edge("approve", graph.End)
	app, err := g.Compile(ledger, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	out, err := app.Run(ctx, "order-1234", Refund{Request: "order 1234", Amount: 5000})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := out.Waiting[0].ID
	_, err = ledger.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	fmt.Println(err)
	_, err = ledger.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`{"amount":"2500"}`)})
	fmt.Println(err)
	_, err = ledger.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`{"amount":2500}`)})
	fmt.Println(err)

	out, err = app.Resume(ctx, "order-1234")
	fmt.Println(out.State.Amount, err)
	// Output:
	// posthouse: alice asked for this and cannot approve it (somebody else has to decide)
	// posthouse: value does not satisfy the gate's schema: at amount: type: 2500 has type "string", want "integer"
	// <nil>
	// 2500 <nil>
}

// A validator stands on its own.
func ExampleValidator() {
	validate := gate.Validator()
	schema := json.RawMessage(`{"type": "object", "properties": {"lines": {"items": {"required": ["sku"]}}}}`)
	fmt.Println(validate(schema, json.RawMessage(`{"lines": [{"sku": "A1"}, {}]}`)))
	// Output: at lines[]: required: missing properties: ["sku"]
}
