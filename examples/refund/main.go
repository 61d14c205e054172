// Command refund is the first program of docs/graph.md: a graph that asks for an
// approval, here with everything in one process. Run it twice: the first run
// parks at the question, the second approves it and goes on.
//
//	go run ./examples/refund
//	go run ./examples/refund
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A Message is one turn of the conversation.
type Message struct{ Role, Text string }

// A Payment is what people approve, or edit, and what is then carried out.
type Payment struct {
	Order  string
	Amount int
}

// Refund is the state: each field is stored by itself, when it changed.
type Refund struct {
	Request  string
	Messages []Message  `posthouse:"append"` // one more message is stored as one more message
	Payment  Payment    // what is to be done
	Grant    gate.Grant // the decision that licenses it
}

func refunds() *graph.Graph[Refund] {
	g := graph.New[Refund]("refund")
	g.Node("analyze", func(ctx context.Context, s *Refund) error { // ordinary Go: read and change the state
		reply, err := step.Do(ctx, "llm", func(ctx context.Context) (Message, error) { return complete(ctx, s.Messages) })
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, reply) // paid for once
		return nil
	})
	g.Node("approve", func(ctx context.Context, s *Refund) error {
		grant, err := gate.Propose(ctx, gate.Question{Name: "refund", Text: s.Request, Expires: 48 * time.Hour}, s.Payment)
		s.Grant = grant // without an approval "", also where an earlier request had one
		if errors.Is(err, posthouse.ErrForbidden) {
			return nil // rejected
		}
		return err // posthouse.ErrWaiting: parked, nothing is held
	})
	g.Node("pay", func(ctx context.Context, s *Refund) error { // on what was approved, or edited: not on the state
		_, err := gate.Act(ctx, "transfer", s.Grant, transfer)
		return err
	})
	g.Edge(graph.Start, "analyze")
	g.Edge("analyze", "approve")
	g.Route("approve", func(s *Refund) string {
		if s.Grant != "" {
			return "pay"
		}
		return graph.End
	}, "pay", graph.End)
	g.Edge("pay", graph.End)
	return g
}

func run(ctx context.Context, path string) error {
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	led, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return err
	}
	defer led.Close()
	g := refunds()
	app, err := g.Compile(led, nil)
	if err != nil {
		return err
	}
	_, err = led.Thread(ctx, "order-1234")
	if errors.Is(err, posthouse.ErrNotFound) {
		out, err := app.Run(ctx, "order-1234", Refund{Request: "please refund order 1234", Payment: Payment{"1234", 40}})
		if err != nil {
			return err
		}
		fmt.Println(out.Status, "at", len(out.Waiting), "gate") // a week and a restart later, in any process:
		return nil
	}
	for q, err := range led.Gates(ctx, ledger.GateQuery{Thread: "order-1234"}) {
		if err != nil {
			return err
		}
		if _, err := led.Decide(ctx, q.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
			return err
		}
	}
	out, err := app.Resume(ctx, "order-1234")
	if err != nil {
		return err
	}
	fmt.Println(out.Status, "with", len(out.State.Messages), "message")
	return nil
}

// complete stands for a call to a model.
func complete(context.Context, []Message) (Message, error) {
	return Message{"agent", "the order is small, refund it"}, nil
}

// transfer acts on the world. It runs once for a decision, on what that approved.
func transfer(ctx context.Context, p Payment) (string, error) {
	fmt.Printf("paid: %d for order %s, approved by %s\n", p.Amount, p.Order, gate.Granted(ctx).Decision.By)
	return "receipt 1", nil
}

func main() {
	if err := run(context.Background(), filepath.Join(os.TempDir(), "posthouse-example.db")); err != nil {
		log.Fatal(err)
	}
}
