package graph_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A job that cron starts finds the thread in the hands of another run. With Wait it has the thread
// once that run has ended; without, it fails at once.
func ExampleRunOptions_wait() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	type Report struct{ Rows int }
	begun, end := make(chan struct{}), make(chan struct{})
	g := graph.New[Report]("report")
	g.Node("count", func(_ context.Context, r *Report) error {
		if r.Rows++; r.Rows == 1 {
			close(begun)
			<-end
		}
		return nil
	})
	g.Edge(graph.Start, "count")
	g.Edge("count", graph.End)
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	first, err := app.Start(ctx, "daily", Report{})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-begun
	_, err = app.Run(ctx, "daily", Report{Rows: 10})
	fmt.Println(errors.Is(err, posthouse.ErrBusy))
	close(end)
	out, err := app.Run(ctx, "daily", Report{Rows: 10}, graph.RunOptions{Wait: time.Minute})
	fmt.Println(out.State.Rows, err)
	if _, err := first.Result(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// true
	// 11 <nil>
}
