package content_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// paysWithin is a graph that proposes and pays in a node, or in a subgraph's second node. It notes
// the keys under which it pays.
func paysWithin(h *house, b *bank, within bool, keys *[]string) *graph.App[deal] {
	h.Helper()
	g := graph.New[deal]("saved")
	on, first := g, "pay"
	if within {
		on, first = graph.New[deal]("inner"), "inner"
		on.Node("begin", func(context.Context, *deal) error { return nil })
		on.Edge(graph.Start, "begin")
		on.Edge("begin", "pay")
	}
	on.Node("pay", func(ctx context.Context, s *deal) error {
		grant, err := propose(ctx, "pay", bankTransfer{"bob", s.Amount})
		if err != nil {
			return err
		}
		s.Receipt, err = gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
			*keys = append(*keys, step.Key(ctx))
			return b.pay(ctx, t)
		})
		return err
	})
	on.Edge("pay", graph.End)
	if within {
		graph.Subgraph(g, "inner", on, &graph.SubOptions[deal, deal]{In: func(s *deal) deal { return *s }})
	}
	g.Edge(graph.Start, first)
	if within {
		g.Edge(first, graph.End)
	}
	return must(g.Compile(h.ledger, nil))(h)
}

// No state is saved by hand, and no thread is led elsewhere, while the outcome of an effect is
// unknown: people are asked about it, and it stays the same effect.
func TestAttemptToForgetAnEffectByASavedState(t *testing.T) {
	onStores(t, func(h *house) {
		thread := ""
		latest := func() *posthouse.Checkpoint {
			return must(h.ledger.Latest(h.Context(), ledger.LatestQuery{Thread: thread}))(h)
		}
		save := func(parent posthouse.ID, id posthouse.ID, o *ledger.SaveOptions) {
			c := latest()
			c.ID, c.Parent, c.Kind, c.By, c.Source, c.Gates = id, parent, posthouse.KindSave, "carol", nil, nil
			c.State = maps.Clone(c.State)
			c.State["Again"] = posthouse.Value{Codec: "json", Data: []byte("true")}
			_, err := h.ledger.Save(h.Context(), c, o)
			h.refusedFor(h.only(thread), err)
		}
		for name, try := range map[string]func(app *graph.App[deal], within bool){
			"saved":           func(*graph.App[deal], bool) { save(latest().ID, "", nil) },
			"revised":         func(*graph.App[deal], bool) { save(latest().Parent, latest().ID, &ledger.SaveOptions{Replace: true}) },
			"saved as a root": func(*graph.App[deal], bool) { save("", "", nil) },
			"begun by a goto": func(app *graph.App[deal], within bool) {
				_, err := app.Update(h.Context(), thread, nil, graph.UpdateOptions{Goto: map[bool]string{true: "inner", false: "pay"}[within]})
				h.refusedFor(h.only(thread), err)
			},
		} {
			for _, within := range []bool{false, true} {
				thread = strings.ReplaceAll(fmt.Sprint(name, within), " ", "-")
				var keys []string
				b := &bank{}
				app := paysWithin(h, b, within, &keys)
				lost(h, thread, b, app)
				try(app, within)
				for range 2 {
					must(app.Resume(h.Context(), thread))(h)
				}
				b.want(h, bankTransfer{"bob", 10})
				g := h.only(thread)
				if g.Kind != gate.KindOutcome {
					h.Fatalf("%s, within %v: it asks %+v", name, within, g)
				}
				h.decide(g.ID, yesTo(g), "alice")
				if _, err := app.Resume(h.Context(), thread); err != nil && !errors.Is(err, posthouse.ErrForbidden) {
					h.Fatalf("%s, within %v: %v", name, within, err)
				}
				if len(keys) != 2 || keys[0] != keys[1] {
					h.Errorf("%s, within %v: paid under %q", name, within, keys)
				}
			}
		}
	})
}
