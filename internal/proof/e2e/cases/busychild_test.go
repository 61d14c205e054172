package cases_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
)

// TestABusyChildIsWaitedFor: a graph calls a subgraph in a thread of its own beside a node
// that asks. Both are answered at once: the runner moves the caller while it moves the
// thread that was called.
func TestABusyChildIsWaitedFor(t *testing.T) {
	onStores(t, func(h *house) {
		in := graph.New[order]("child")
		in.Node("ask", func(ctx context.Context, s *order) error {
			a, err := gate.Ask[any](ctx, gate.Question{Name: "child"})
			if err == nil {
				s.Log = append(s.Log, fmt.Sprint(a.Approved()))
			}
			return err
		})
		in.Edge(graph.Start, "ask")
		in.Edge("ask", graph.End)
		g := graph.New[order]("g")
		graph.Subgraph(g, "call", in, &graph.SubOptions[order, order]{
			In:  func(*order) order { return order{} },
			Out: func(out, in *order) error { out.Log = append(out.Log, in.Log...); return nil }, OwnThread: true,
		})
		g.Node("beside", func(ctx context.Context, _ *order) error {
			_, err := gate.Ask[any](ctx, gate.Question{Name: "beside"})
			return err
		})
		for _, n := range []string{"call", "beside"} {
			g.Edge(graph.Start, n)
			g.Edge(n, graph.End)
		}
		app := must.Get(g.Compile(h.led, nil))(h)
		r := must.Get(runner.New(h.led, &runner.Options{Programs: app.Programs()}))(h)
		ctx, cancel := context.WithCancel(h.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		defer func() { cancel(); <-ended }()

		const rounds = 20
		for i := range rounds {
			must.Get(app.Run(ctx, fmt.Sprint("t", i), order{}))(h)
		}
		over := h.led.Watch(ctx, ledger.WatchQuery{Cursor: "now"})
		var answers sync.WaitGroup
		for _, q := range h.people() {
			answers.Go(func() { h.approve(q.ID) })
		}
		answers.Wait()
		waiting := rounds
		for e, err := range over {
			if err != nil {
				h.Fatal(err)
			}
			c := e.Checkpoint
			if c == nil || c.Graph != "g" || !posthouse.IsOver(c.Status) && c.Status != posthouse.StatusFailed {
				continue
			}
			if c.Status != posthouse.StatusDone {
				h.Errorf("%s is %s: %s", c.Thread, c.Status, c.Error)
			}
			if waiting--; waiting == 0 {
				break
			}
		}
	})
}
