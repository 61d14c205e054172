package main

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/gate"
)

// An Order is what the shop knows of one.
type Order struct {
	Number string
	Paid   int // in cents; 0: there is no such order
}

// A tool looks an order up by its number.
type tool func(ctx context.Context, number string) (Order, error)

// lookUp is a tool without a shop: put your own in its place.
func lookUp(_ context.Context, number string) (Order, error) {
	paid := map[string]int{"1234": 4999, "1235": 1250}
	return Order{number, paid[number]}, nil
}

// A payer acts on the world: it is called with what was approved, or edited, by whoever carries it
// out, and once. Its error leaves open whether the money went, and people are asked, unless
// [gate.NotDone] says that nothing happened.
type payer func(ctx context.Context, p Payment) (string, error)

// transfer is a payer without money: put your bank in its place.
func transfer(ctx context.Context, p Payment) (string, error) {
	if p.Amount <= 0 {
		return "", gate.NotDone(fmt.Errorf("the bank does not transfer %d cents", p.Amount))
	}
	return fmt.Sprintf("We refund %d cents for order %s, approved by %s.", p.Amount, p.Order, gate.Granted(ctx).Decision.By), nil
}
