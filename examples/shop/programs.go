package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A Refund is the state of the graph, and what a request to it holds.
type Refund struct {
	Order   string     `doc:"the order's number"`
	Amount  int        `doc:"in cents"`
	Grant   gate.Grant `doc:"of the decision that licenses the payment; the program fills it in"`
	Receipt string     `doc:"of the payment; the program fills it in"`
}

// refund is a graph: somebody approves, then it pays, once.
func refund() *graph.Graph[Refund] {
	g := graph.New[Refund]("refund")
	g.Node("approve", func(ctx context.Context, s *Refund) error {
		step.Token(ctx, "asking for "+s.Order)
		grant, err := gate.Propose(ctx, gate.Question{
			Name: "refund", Text: fmt.Sprintf("Refund %d for order %s?", s.Amount, s.Order), Expires: 48 * time.Hour, AllowRequester: true,
		}, Payment{s.Order, s.Amount})
		s.Grant, s.Receipt = grant, "" // without an approval "", also where an earlier request had one
		if errors.Is(err, posthouse.ErrForbidden) {
			return nil // rejected
		}
		return err // posthouse.ErrWaiting: parked, nothing is held
	})
	g.Node("pay", func(ctx context.Context, s *Refund) (err error) {
		s.Receipt, err = gate.Act(ctx, "transfer", s.Grant, transfer)
		return err
	})
	g.Edge(graph.Start, "approve")
	g.Route("approve", func(s *Refund) string {
		if s.Grant != "" {
			return "pay"
		}
		return graph.End
	}, "pay", graph.End)
	g.Edge("pay", graph.End)
	return g
}

// A Payment is what people approve, or edit.
type Payment struct {
	Order  string
	Amount int
}

// transfer acts on the world, on what was approved.
func transfer(ctx context.Context, p Payment) (string, error) {
	return fmt.Sprintf("%d for order %s, approved by %s", p.Amount, p.Order, gate.Granted(ctx).Decision.By), nil
}

// restock is a flow: a plain function with steps on record.
func restock() *flow.Flow[string, string] {
	return flow.New("restock", func(ctx context.Context, item string) (string, error) {
		number, err := step.Do(ctx, "order", func(ctx context.Context) (string, error) { return "no. 1", nil })
		return item + " is ordered, " + number, err
	})
}

// desk is a coordinator: it has a clerk answer what customers ask.
func desk(l *ledger.Ledger) (*coord.Coordinator, error) {
	fleet, err := coord.NewFleet(coord.Agent{Name: "clerk", Skills: map[string]coord.Skill{"answer": answer}})
	if err != nil {
		return nil, err
	}
	return coord.New(l, "desk", fleet, func(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
		a, err := fleet.Agent("clerk").Call(ctx, "answer", message)
		if err == nil {
			session.Stream(a.Text)
		}
		return err
	}, nil)
}

// answer stands for a call to a model.
func answer(_ context.Context, c coord.Call) (coord.Result, error) {
	var question string
	if err := c.Bind(&question); err != nil {
		return coord.Result{}, err
	}
	return coord.NewResult("You asked: "+question, nil)
}
