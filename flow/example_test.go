package flow_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Order struct {
	Item string
}

// The function charges, asks a person and ships. It is executed again after the
// answer, and does not charge again.
func Example() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	order := flow.New("order", func(ctx context.Context, in Order) (string, error) {
		charge, err := step.Do(ctx, "charge", func(ctx context.Context) (string, error) {
			fmt.Println("charging for", in.Item)
			return "charge-77", nil
		})
		if err != nil {
			return "", err
		}
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ship", Text: "ship the " + in.Item + "?"})
		if err != nil {
			return "", err // posthouse.ErrWaiting: the thread is parked
		}
		if !a.Approved() {
			return "not shipped", nil
		}
		return step.Do(ctx, "ship", func(ctx context.Context) (string, error) {
			fmt.Println("shipping")
			return in.Item + " shipped, paid by " + charge, nil
		})
	})
	app, err := order.Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	out, err := app.Run(ctx, "order-1234", Order{Item: "lamp"})
	fmt.Println(out.Status, out.Waiting[0].Text, err)

	// A week and a restart later, anywhere:
	_, err = led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	fmt.Println(err)
	out, err = app.Resume(ctx, "order-1234")
	fmt.Println(out.Status, out.Output, err)

	for s, err := range app.History(ctx, "order-1234") {
		fmt.Println(s.Kind, s.Node, err)
	}
	// Output:
	// charging for lamp
	// waiting ship the lamp? <nil>
	// <nil>
	// shipping
	// done lamp shipped, paid by charge-77 <nil>
	// node order <nil>
	// event ship <nil>
	// wait order <nil>
	// event charge <nil>
	// input  <nil>
}

// A fork after a step keeps the steps up to there and runs the rest again.
func ExampleApp_Replay() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	draft := 0
	letter := flow.New("letter", func(ctx context.Context, to string) (string, error) {
		address, err := step.Do(ctx, "look up", func(context.Context) (string, error) {
			fmt.Println("looking up", to)
			return to + ", 12 Posthouse Lane", nil
		})
		if err != nil {
			return "", err
		}
		return step.Do(ctx, "draft", func(context.Context) (string, error) {
			draft++
			return fmt.Sprintf("draft %d to %s", draft, address), nil
		})
	})
	app, err := letter.Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	out, err := app.Run(ctx, "letter-1", "Ann")
	fmt.Println(out.Output, err)

	known, err := app.State(ctx, "letter-1", flow.StateOptions{Node: "look up"})
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := app.Replay(ctx, known.ID)
	fmt.Println(again.Branch, again.Output, err)
	// Output:
	// looking up Ann
	// draft 1 to Ann, 12 Posthouse Lane <nil>
	// fork-1 draft 2 to Ann, 12 Posthouse Lane <nil>
}

// Each execution of a thread goes on from what the one before it returned.
func ExamplePrevious() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	total := flow.New("total", func(ctx context.Context, add int) (int, error) {
		sum, _, err := flow.Previous[int](ctx)
		return sum + add, err
	})
	app, err := total.Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range []int{20, 22} {
		out, err := app.Run(context.Background(), "till-1", n)
		fmt.Println(out.Output, err)
	}
	// Output:
	// 20 <nil>
	// 42 <nil>
}
