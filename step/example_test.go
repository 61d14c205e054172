package step_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Order struct {
	Receipt string
}

// The node fails after it charged the card. Run again, it does not charge twice.
func Example() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mailServerIsDown := true

	g := graph.New[Order]("shop")
	g.Node("pay", func(ctx context.Context, o *Order) error {
		receipt, err := step.Do(ctx, "charge", func(ctx context.Context) (string, error) {
			fmt.Println("charging the card, idempotency key", step.Key(ctx))
			return "receipt-77", nil
		})
		if err != nil {
			return err
		}
		if mailServerIsDown {
			return errors.New("cannot mail the receipt")
		}
		o.Receipt = receipt
		return nil
	})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	_, err = app.Run(ctx, "order-1234", Order{})
	fmt.Println("failed:", err != nil)

	mailServerIsDown = false
	out, err := app.Resume(ctx, "order-1234")
	fmt.Println(out.State.Receipt, err)
	// Output:
	// charging the card, idempotency key order-1234/1/pay/charge/0
	// failed: true
	// receipt-77 <nil>
}

// A step of its own is tried again: each attempt, and when the next is due, is
// on record.
func ExampleDoWith() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tries := 0
	g := graph.New[Order]("shop")
	g.Node("mail", func(ctx context.Context, o *Order) (err error) {
		o.Receipt, err = step.DoWith(ctx, "send", step.Options{
			Effect:  posthouse.EffectExternal,
			Retry:   posthouse.RetryPolicy{MaxAttempts: 6, InitialDelay: time.Millisecond, Backoff: posthouse.Exponential},
			Timeout: 30 * time.Second, // of one attempt
		}, func(context.Context) (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("503")
			}
			return "sent", nil
		})
		return err
	})
	g.Edge(graph.Start, "mail")
	g.Edge("mail", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(context.Background(), "order-1234", Order{})
	fmt.Println(out.State.Receipt, "after", tries, "attempts,", err)
	// Output: sent after 3 attempts, <nil>
}
