package content_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// An effect of a failure's handler has the outcome that is on record, in the grant, in the
// thread's effects, and after a crash.
func TestEffectOfAFailuresHandlerIsOnRecord(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		g := graph.New[deal]("deal")
		g.Node("propose", func(ctx context.Context, s *deal) (err error) {
			s.Grant, err = gate.Propose(ctx, gate.Question{Name: "refund"}, bankTransfer{"bob", s.Amount})
			return err
		})
		g.Node("ship", func(context.Context, *deal) error { return errors.New("out of stock") })
		g.OnError("ship", func(ctx context.Context, s *deal, _ error) (graph.Command, error) {
			var err error
			s.Receipt, err = gate.Act(ctx, "pay back", s.Grant, b.pay)
			if err != nil {
				return graph.Command{}, err
			}
			_, err = gate.Ask[any](ctx, gate.Question{Name: "more?", Bind: posthouse.ByName})
			return graph.Command{}, err
		})
		g.Edge(graph.Start, "propose")
		g.Edge("propose", "ship")
		g.Edge("ship", graph.End)
		app := must(g.Compile(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		id := h.only("t").ID
		h.decide(id, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
		check := func() {
			h.Helper()
			grant := must(ledger.ReadGrant(h.Context(), h.ledger, id))(h)
			if grant.Status != grants.Executed || len(grant.Uses) != 1 || grant.Uses[0].Status != grants.Executed {
				h.Errorf("the grant is %s, its uses %+v", grant.Status, grant.Uses)
			}
			effects := must(ledger.Effects(h.Context(), h.ledger, "t"))(h)
			if len(effects) != 1 || effects[0].Status != grants.Executed || effects[0].Grant != id {
				h.Errorf("the effects are %+v", effects)
			}
		}
		check()
		h.decide(h.only("t").ID, posthouse.Approve, "alice") // more: the handler is executed again
		if out := must(app.Resume(h.Context(), "t"))(h); out.Status != posthouse.StatusDone || out.State.Receipt != "receipt 1" {
			h.Errorf("output %+v", out)
		}
		b.want(h, bankTransfer{"bob", 10})
		check()
	})
}
