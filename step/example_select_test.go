package step_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// Whichever comes first: the customer withdraws the order, or a day passes.
func ExampleSelect() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := flow.New("order", func(ctx context.Context, _ string) (string, error) {
		first, err := step.Select(ctx, "ship",
			step.When("withdrawn", func(ctx context.Context) (string, error) {
				return step.Signal[string](ctx, "withdraw", step.SignalOptions{})
			}),
			step.When("time", func(ctx context.Context) (string, error) {
				return "shipped", step.Sleep(ctx, "a day", 24*time.Hour)
			}))
		return first.Case + ": " + first.Value, err
	}).Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	out, err := app.Run(ctx, "order-1", "")
	fmt.Println(out.Status, "for", len(out.Waiting), err)
	_, err = led.Signal(ctx, "order-1", posthouse.Signal{Name: "withdraw", Value: json.RawMessage(`"too late"`), By: "alice"})
	fmt.Println(err)
	out, err = app.Resume(ctx, "order-1")
	fmt.Println(out.Status, out.Output, err)
	// Output:
	// waiting for 2 <nil>
	// <nil>
	// done withdrawn: too late <nil>
}
