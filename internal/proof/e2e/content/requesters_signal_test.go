package content_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A signal from a program is of all requesters of the program, also if the program names
// itself as its sender: taken at once, after a wait, latched, after a restart and in a thread
// that a fork begins.
func TestAProgramSignalsForAllItsRequesters(t *testing.T) {
	for name, c := range map[string]struct {
		waits, latch bool
		by           string
	}{
		"at once": {}, "after a wait": {waits: true}, "latched at once": {latch: true}, "latched after a wait": {waits: true, latch: true},
		"under its own name": {by: "robot"}, "under its own name, after a wait": {waits: true, by: "robot"},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				build := func() *flow.App[int, string] {
					return must(flow.New("f", func(ctx context.Context, n int) (string, error) {
						to, err := step.Signal[string](ctx, "payee", step.SignalOptions{Latch: c.latch})
						if err == nil {
							_, err = step.Signal[string](ctx, "go", step.SignalOptions{})
						}
						if err == nil {
							_, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{to, n})
						}
						return to, err
					}).Open(h.ledger, nil))(h)
				}
				app := build()
				if c.waits {
					must(app.Run(h.Context(), "to", 10, flow.RunOptions{By: "bob"}))(h)
				}
				robot := graph.New[bill]("robot")
				robot.Node("send", func(ctx context.Context, b *bill) error {
					_, err := step.Signal[string](ctx, "order", step.SignalOptions{})
					if err == nil {
						_, err = h.ledger.Signal(ctx, "to", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"mallory"`), By: c.by, Early: true})
					}
					return err
				})
				robot.Edge(graph.Start, "send")
				robot.Edge("send", graph.End)
				r := must(robot.Compile(h.ledger, nil))(h)
				must(h.ledger.Signal(h.Context(), "robot", posthouse.Signal{Name: "order", By: "eve", Early: true}))(h)
				must(r.Run(h.Context(), "robot", bill{}, graph.RunOptions{By: "mallory"}))(h)
				if !c.waits {
					must(app.Run(h.Context(), "to", 10, flow.RunOptions{By: "bob"}))(h)
				}
				h.restart()
				app = build()
				must(app.Resume(h.Context(), "to"))(h)
				must(h.ledger.Fork(h.Context(), must(h.ledger.Thread(h.Context(), "to"))(h).Branches[0].Head, &ledger.ForkOptions{Thread: "away"}))(h)
				want := []string{"bob", "mallory", "eve"}
				if c.by != "" {
					want = append(want, c.by)
				}
				for _, thread := range []string{"to", "away"} {
					must(h.ledger.Signal(h.Context(), thread, posthouse.Signal{Name: "go"}))(h)
					must(app.Resume(h.Context(), thread))(h)
					h.requested(h.only(thread), want...)
				}
			})
		})
	}
}

// A worker's signal is of all requesters of the run that handed its task out.
func TestAWorkerSignalsForTheRequestersOfItsRun(t *testing.T) {
	onStores(t, func(h *house) {
		build := func() *flow.App[int, string] {
			return must(flow.New("f", func(ctx context.Context, n int) (string, error) {
				if _, err := step.Signal[string](ctx, "order", step.SignalOptions{}); err != nil {
					return "", err
				}
				_, err := step.Remote[string](ctx, "pay", "pay", n)
				to := ""
				if err == nil {
					to, err = step.Signal[string](ctx, "payee", step.SignalOptions{})
				}
				if err == nil {
					_, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{to, n})
				}
				return to, err
			}).Open(h.ledger, nil))(h)
		}
		app := build()
		k := h.desk()
		defer k.stop()
		must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "order", By: "eve", Early: true}))(h)
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "mallory"}))(h)
		c := k.claim()
		must(app.Run(h.Context(), "other", 10, flow.RunOptions{By: "bob"}))(h)
		must(h.ledger.Signal(h.Context(), "other", posthouse.Signal{Name: "order"}))(h)
		must(app.Resume(h.Context(), "other"))(h)
		o := k.claim()
		if err := k.d.Signal(h.Context(), c.ID, "other", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"mallory"`)}); err != nil {
			h.Fatal(err)
		}
		k.paid(o)
		must(app.Resume(h.Context(), "other"))(h)
		h.requested(h.only("other"), "bob", "mallory", "eve", "worker:w1")
	})
}
