package grants_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A log is read once, and says of each effect how far it has come.
func ExampleGather() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this?"}, amount)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "transfer", grant, func(ctx context.Context, amount int) (string, error) {
			return fmt.Sprint("paid ", amount), nil
		})
	}).Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(ctx, "order-1", 500)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := app.Resume(ctx, "order-1"); err != nil {
		fmt.Println(err)
		return
	}

	found := grants.Gather()
	for e, err := range led.Log(ctx, "order-1", posthouse.Range{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range e.Records {
			found.Add(e.Entry, i, &e.Records[i])
		}
	}
	for _, use := range found.Uses(false) {
		fmt.Println(use.Name, use.Status, use.Grant == out.Waiting[0].ID)
	}
	// Output:
	// transfer executed true
}
