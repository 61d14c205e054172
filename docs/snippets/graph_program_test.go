package snippets_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestGraphProgram runs the whole graph of graph.md, on a disk.
func TestGraphProgram(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "posthouse.db")
	type Message struct{ Role, Text string }
	type Payment struct {
		Order  string
		Amount int
	}
	paid := 0
	transfer := func(_ context.Context, p Payment) (string, error) { paid += p.Amount; return "receipt 1", nil }
	complete := func(context.Context, []Message) (Message, error) { return Message{"agent", "refund it"}, nil }

	//doc:program
	type Refund struct {
		Request  string
		Messages []Message  `posthouse:"append"` // one more message is stored as one more message
		Payment  Payment    // what is to be done
		Grant    gate.Grant // the decision that licenses it
	}

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

	store := must(sqlitestore.Open(ctx, path, nil))
	led := must(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))
	app := must(g.Compile(led, nil))
	out := must(app.Run(ctx, "order-1234", Refund{Request: "please refund order 1234", Payment: Payment{"1234", 40}}))
	// A week and a restart later, in any process:
	for _, q := range out.Waiting {
		must(led.Decide(ctx, q.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
	}
	out = must(app.Resume(ctx, "order-1234"))
	//doc:end

	if out.Status != posthouse.StatusDone || paid != 40 || len(out.State.Messages) != 1 {
		t.Errorf("%s, paid %d, %d messages", out.Status, paid, len(out.State.Messages))
	}
	ok(led.Close())
	ok(store.Close())
}
