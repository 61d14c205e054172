package step_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type Trip struct {
	Cities []string
	Prices []int
}

// One of the steps fails. Run again, the others answer from the record.
func ExampleMap() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	romeIsDown := true
	g := graph.New[Trip]("trip")
	g.Node("prices", func(ctx context.Context, t *Trip) error {
		prices, err := step.Map(ctx, "price", t.Cities, func(ctx context.Context, city string) (int, error) {
			if city == "Rome" && romeIsDown {
				return 0, errors.New("Rome does not answer")
			}
			fmt.Println("asking", city)
			return 100 + len(city), nil
		}, step.GroupOptions{Concurrency: 1})
		t.Prices = prices
		return err
	})
	g.Edge(graph.Start, "prices")
	g.Edge("prices", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	_, err = app.Run(ctx, "trip-1", Trip{Cities: []string{"Oslo", "Rome", "Lima"}})
	fmt.Println("failed:", err != nil)
	romeIsDown = false
	out, err := app.Resume(ctx, "trip-1")
	fmt.Println(out.State.Prices, err)
	// Output:
	// asking Oslo
	// asking Lima
	// failed: true
	// asking Rome
	// [104 104 104] <nil>
}

// Steps of different types run beside each other.
func ExampleGo() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graph.New[Trip]("trip")
	g.Node("look-up", func(ctx context.Context, t *Trip) error {
		group := step.NewGroup(ctx, nil)
		city := step.Go(group, "city", func(context.Context) (string, error) { return "Quito", nil })
		price := step.Go(group, "price", func(context.Context) (int, error) { return 120, nil })
		if err := group.Wait(); err != nil {
			return err
		}
		t.Cities, t.Prices = []string{city.Value()}, []int{price.Value()}
		return nil
	})
	g.Edge(graph.Start, "look-up")
	g.Edge("look-up", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(context.Background(), "trip-2", Trip{})
	fmt.Println(out.State.Cities, out.State.Prices, err)
	// Output: [Quito] [120] <nil>
}
