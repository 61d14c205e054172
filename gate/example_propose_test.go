package gate_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// The effect runs on the approved content, or on the edited content.
func ExamplePropose() {
	type Payment struct{ Amount int }
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := flow.New("pay", func(ctx context.Context, p Payment) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this?"}, p)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "transfer", grant, func(ctx context.Context, p Payment) (string, error) {
			return fmt.Sprintf("paid %d, approved by %s", p.Amount, gate.Granted(ctx).Decision.By), nil
		})
	}).Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(ctx, "order-1", Payment{500})
	fmt.Println(string(out.Waiting[0].Payload), err)
	_, err = led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"Amount":50}`)})
	fmt.Println(err)
	done, err := app.Resume(ctx, "order-1")
	fmt.Println(done.Output, err)
	grant, err := ledger.ReadGrant(ctx, led, out.Waiting[0].ID)
	fmt.Println(grant.Status, err)
	// Output:
	// {"Amount":500} <nil>
	// <nil>
	// paid 50, approved by alice <nil>
	// executed <nil>
}
