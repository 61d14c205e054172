package content_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// Whoever changed the thread of a subgraph that failed, or was cancelled, is a requester of what
// the handler of that failure asks, also after a restart in between.
func TestWhoChangesAFailedSubgraphCannotApproveWhatItsHandlerAsks(t *testing.T) {
	for _, end := range []string{"fails", "is cancelled"} {
		t.Run(end, func(t *testing.T) {
			onStores(t, func(h *house) {
				build := func() *graph.App[bill] {
					sub := graph.New[bill]("sub")
					sub.Node("look", func(ctx context.Context, b *bill) error {
						if _, err := gate.Ask[string](ctx, gate.Question{Name: "look", Text: "Whom?"}); err != nil {
							return err
						}
						return fmt.Errorf("send it to %s", b.To)
					})
					sub.Edge(graph.Start, "look")
					sub.Edge("look", graph.End)
					g := graph.New[bill]("outer")
					graph.Subgraph(g, "sub", sub, &graph.SubOptions[bill, bill]{OwnThread: true,
						In: func(b *bill) bill { return *b }, Out: func(b, in *bill) error { return nil },
					})
					g.OnError("sub", func(ctx context.Context, b *bill, err error) (graph.Command, error) {
						if _, e := step.Signal[string](ctx, "go", step.SignalOptions{}); e != nil {
							return graph.Command{}, e
						}
						_, e := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{err.Error(), b.Amount})
						return graph.Command{}, e
					})
					g.Edge(graph.Start, "sub")
					g.Edge("sub", graph.End)
					return must(g.Compile(h.ledger, nil))(h)
				}
				app := build()
				res := must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
				child := res.Waiting[0].Text
				c := must(h.ledger.Get(h.Context(), h.only(child).Checkpoint))(h).Clone()
				d := c.Derive(c.State)
				d.State["To"] = posthouse.Value{Codec: "json", Data: []byte(`"mallory"`)}
				d.Status, d.Next, d.By = posthouse.StatusInterrupted, c.Next, "mallory"
				must(h.ledger.Save(h.Context(), d, nil))(h)
				move := func() { _ = app.Programs()[1].Advance(h.Context(), child, posthouse.MainBranch) }
				move()
				must(app.Resume(h.Context(), "t"))(h)
				h.requested(h.only(child), "bob", "mallory")
				if end == "fails" {
					h.decide(h.only(child).ID, posthouse.Approve, "alice")
					move()
				} else {
					must(h.ledger.Cancel(h.Context(), child, &ledger.CancelOptions{By: "alice"}))(h)
				}
				_, _ = app.Resume(h.Context(), "t")
				h.restart()
				app = build()
				must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "go"}))(h)
				must(app.Resume(h.Context(), "t"))(h)
				h.requested(h.only("t"), "bob", "mallory")
			})
		})
	}
}

// A coordinator that gets a request from a program acts for all requesters of the program,
// also after a restart.
func TestACoordinatorsRequestIsOfTheProgramsRequesters(t *testing.T) {
	onStores(t, func(h *house) {
		ask := func(ctx context.Context, _ string, _ *coord.Fleet, s *coord.Session) error {
			if _, err := gate.Ask[string](ctx, gate.Question{Name: "first", Text: "Go on?"}); err != nil {
				return err
			}
			_, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"mallory", 1})
			return err
		}
		build := func() *coord.Coordinator {
			fleet := must(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{"do": func(context.Context, coord.Call) (coord.Result, error) { return coord.Result{}, nil }}}))(h)
			return must(coord.New(h.ledger, "desk", fleet, ask, nil))(h)
		}
		c := build()
		robot := graph.New[bill]("robot")
		robot.Node("send", func(ctx context.Context, b *bill) error {
			if _, err := step.Signal[string](ctx, "order", step.SignalOptions{}); err != nil {
				return err
			}
			_, err := c.Handle(ctx, "pay it", &coord.HandleOptions{Thread: "desk", By: "robot"})
			return err
		})
		robot.Edge(graph.Start, "send")
		robot.Edge("send", graph.End)
		r := must(robot.Compile(h.ledger, nil))(h)
		must(h.ledger.Signal(h.Context(), "robot", posthouse.Signal{Name: "order", By: "eve", Early: true}))(h)
		must(r.Run(h.Context(), "robot", bill{}, graph.RunOptions{By: "mallory"}))(h)
		h.requested(h.only("desk"), "robot", "mallory", "eve")
		h.decide(h.only("desk").ID, posthouse.Approve, "alice")
		h.restart()
		must(build().Resume(h.Context(), "desk", nil))(h)
		h.requested(h.only("desk"), "robot", "mallory", "eve")
	})
}
