// Command refund is the program of README.md: a graph that asks for an
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
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A Message is one turn of the conversation.
type Message struct{ Role, Text string }

// An Edit is what a reviewer may change.
type Edit struct{ Request string }

// Refund is the state: each field is stored by itself, when it changed.
type Refund struct {
	Request  string
	Messages []Message `posthouse:"append"` // one more message is stored as one more message
	Approved bool
}

func refunds() *graph.Graph[Refund] {
	g := graph.New[Refund]("refund")
	g.Node("analyze", func(ctx context.Context, s *Refund) error { // ordinary Go: read and change the state
		reply, err := step.Do(ctx, "llm", func(ctx context.Context) (Message, error) { return complete(ctx, s.Messages) })
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, reply) // paid for once, whatever happens next
		return nil
	})
	g.Node("approve", func(ctx context.Context, s *Refund) error {
		a, err := gate.Ask[Edit](ctx, gate.Question{Name: "refund", Text: s.Request, Expires: 48 * time.Hour})
		if err != nil {
			return err // posthouse.ErrWaiting: parked, nothing is held
		}
		s.Approved = a.Approved()
		return nil
	})
	g.Node("pay", pay)
	g.Edge(graph.Start, "analyze")
	g.Edge("analyze", "approve")
	g.Route("approve", func(s *Refund) string {
		if s.Approved {
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
	ledger, err := posthouse.Open(store, &posthouse.Options{Validate: gate.Validator()})
	if err != nil {
		return err
	}
	defer ledger.Close()
	g := refunds()
	app, err := g.Compile(ledger, nil)
	if err != nil {
		return err
	}
	_, err = ledger.Thread(ctx, "order-1234")
	if errors.Is(err, posthouse.ErrNotFound) {
		out, err := app.Run(ctx, "order-1234", Refund{Request: "please refund order 1234"})
		if err != nil {
			return err
		}
		fmt.Println(out.Status, "at", len(out.Waiting), "gate") // a week and a restart later, in any process:
		return nil
	}
	for q, err := range ledger.Gates(ctx, posthouse.GateQuery{Thread: "order-1234"}) {
		if err != nil {
			return err
		}
		if _, err := ledger.Decide(ctx, q.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
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

// pay acts on the world once: its result is on record.
func pay(ctx context.Context, s *Refund) error {
	receipt, err := step.Do(ctx, "transfer", func(context.Context) (string, error) { return "receipt 1", nil })
	if err == nil {
		fmt.Println("paid:", s.Request, receipt)
	}
	return err
}

func main() {
	if err := run(context.Background(), filepath.Join(os.TempDir(), "posthouse-example.db")); err != nil {
		log.Fatal(err)
	}
}
