package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

// A Refund is the state of the graph. A run begins with its Message; nodes fill in the rest.
type Refund struct {
	Message string     `doc:"what the customer wrote"`
	Order   string     `doc:"the number of the order; the model finds it"`
	Amount  int        `doc:"in cents; the tool looks it up"`
	Grant   gate.Grant `doc:"of the decision that licenses the payment"`
	Answer  string     `doc:"to the customer"`
}

// A Payment is what people approve, and what is paid.
type Payment struct {
	Order  string `doc:"the number of the order"`
	Amount int    `doc:"in cents"`
}

// refund returns the graph: read, look up, approve, pay. After a crash it goes on from the last
// step on record: no model is paid, and no customer, twice.
func refund(m model, find tool, pay payer) *graph.Graph[Refund] {
	g := graph.New[Refund]("refund")
	g.Node("read", func(ctx context.Context, s *Refund) (err error) {
		s.Answer = "" // of an earlier message
		s.Order, err = step.Do(ctx, "model", func(ctx context.Context) (string, error) {
			return m.Reply(ctx, "Answer with the number of the order that the customer writes of, or with none.", s.Message)
		})
		return err
	})
	g.Node("look up", func(ctx context.Context, s *Refund) error {
		found, err := step.Do(ctx, "order", func(ctx context.Context) (Order, error) { return find(ctx, s.Order) })
		s.Amount = found.Paid
		if found.Paid == 0 {
			s.Answer = "We know of no order " + s.Order + " that was paid."
		}
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3}})
	g.Node("approve", func(ctx context.Context, s *Refund) error {
		grant, err := gate.Propose(ctx, gate.Question{
			Name: "refund", Text: fmt.Sprintf("Refund %d cents for order %s?", s.Amount, s.Order),
			Expires: 48 * time.Hour, AllowRequester: true, // who began the run may approve: take this out where another must
		}, Payment{s.Order, s.Amount})
		s.Grant = grant
		if errors.Is(err, posthouse.ErrForbidden) { // rejected
			s.Answer = "We cannot refund order " + s.Order + "."
			return nil
		}
		return err // posthouse.ErrWaiting until somebody answers: nothing is held until then
	})
	g.Node("pay", func(ctx context.Context, s *Refund) (err error) {
		s.Answer, err = gate.Act(ctx, "transfer", s.Grant, pay)
		return err
	})
	g.Edge(graph.Start, "read")
	g.Edge("read", "look up")
	g.Route("look up", func(s *Refund) string { return unless(s.Amount == 0, "approve") }, "approve", graph.End)
	g.Route("approve", func(s *Refund) string { return unless(s.Grant == "", "pay") }, "pay", graph.End)
	g.Edge("pay", graph.End)
	return g
}

// unless returns the next node, or the end.
func unless(end bool, next string) string {
	if end {
		return graph.End
	}
	return next
}
