package coord_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// Whoever holds the handle can stop a request in flight. The agent's context
// ends; since it had not completed, nothing is on record.
func ExampleHandle() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	began := make(chan struct{})
	fleet, err := coord.NewFleet(coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{
		"analyze": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			close(began)
			<-ctx.Done() // a model that takes its time
			return coord.Result{}, ctx.Err()
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := coord.New(led, "dispatch", fleet, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		_, err := f.Agent("analyzer").Call(ctx, "analyze", nil)
		return err
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, handle := context.Background(), coord.NewHandle()
	go func() {
		<-began
		handle.Cancel()
	}()
	reply, err := c.Handle(ctx, "please refund order 1234", &coord.HandleOptions{Thread: "order-1234", Handle: handle})
	fmt.Println(errors.Is(err, posthouse.ErrCancelled), reply.Status, handle.Reason())
	_, err = led.Thread(ctx, "order-1234")
	fmt.Println(errors.Is(err, posthouse.ErrNotFound))
	// Output:
	// true cancelled cancelled
	// true
}
