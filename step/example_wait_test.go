package step_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Parcel struct {
	Address string
}

// The thread is parked until somebody sends the signal, for minutes or months,
// and holds nothing while it waits. Signals are taken in the order in which they
// were sent.
func ExampleSignal() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graph.New[Parcel]("parcel")
	g.Node("address", func(ctx context.Context, p *Parcel) error {
		address, err := step.Signal[string](ctx, "address", step.SignalOptions{Timeout: 48 * time.Hour})
		if err != nil {
			return err // posthouse.ErrWaiting until a signal comes
		}
		p.Address = address
		return nil
	})
	g.Edge(graph.Start, "address")
	g.Edge("address", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	out, err := app.Run(ctx, "parcel-7", Parcel{})
	fmt.Println(out.Status, out.Waiting[0].Kind, out.Waiting[0].Signal, err)

	_, err = led.Signal(ctx, "parcel-7", posthouse.Signal{Name: "address", Value: json.RawMessage(`"12 Posthouse Lane"`), By: "alice"})
	fmt.Println(err)
	out, err = app.Resume(ctx, "parcel-7")
	fmt.Println(out.Status, out.State.Address, err)
	// Output:
	// waiting signal address <nil>
	// <nil>
	// done 12 Posthouse Lane <nil>
}

// The reminder is sent a day later, in whatever process has the thread then.
func ExampleSleep() {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	led, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graph.New[Parcel]("reminder")
	g.Node("remind", func(ctx context.Context, p *Parcel) error {
		if err := step.Sleep(ctx, "a day", 24*time.Hour); err != nil {
			return err // posthouse.ErrWaiting until it has passed
		}
		fmt.Println("reminding at", now.Format(time.DateTime))
		return nil
	})
	g.Edge(graph.Start, "remind")
	g.Edge("remind", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	out, err := app.Run(ctx, "parcel-7", Parcel{})
	fmt.Println(out.Status, "until", out.Waiting[0].ExpiresAt.Format(time.DateTime), err)
	now = now.Add(24 * time.Hour)
	out, err = app.Resume(ctx, "parcel-7") // a runner does this when the time has come
	fmt.Println(out.Status, err)
	// Output:
	// waiting until 2026-05-07 07:08:09 <nil>
	// reminding at 2026-05-07 07:08:09
	// done <nil>
}
