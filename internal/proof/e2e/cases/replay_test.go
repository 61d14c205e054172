package cases_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// TestRefusedReplayLeavesNothing: a Replay that another version of the graph cannot make leaves
// no branch.
func TestRefusedReplayLeavesNothing(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		nodes := func(names ...string) *graph.App[order] {
			g := graph.New[order]("doc")
			last := graph.Start
			for _, n := range names {
				g.Node(n, func(context.Context, *order) error { return nil })
				g.Edge(last, n)
				last = n
			}
			g.Edge(last, graph.End)
			return must.Get(g.Compile(h.led, nil))(h)
		}
		must.Get(nodes("a", "b").Run(ctx, "t", order{}))(h)
		var at posthouse.ID
		for s, err := range nodes("a", "b").History(ctx, "t", graph.HistoryOptions{Node: "a"}) {
			at = must.Get(s, err)(h).ID
		}
		app := nodes("a")
		for range 3 {
			var changed *graph.ChangedError
			if _, err := app.Replay(ctx, at); !errors.As(err, &changed) {
				h.Errorf("replay: %v", err)
			}
		}
		h.want("branches", len(must.Get(app.Branches(ctx, "t"))(h)), 1)
		for f, err := range app.Check(ctx, nil) {
			h.Errorf("check: branch %s %s", must.Get(f, err)(h).Branch, f.Kind)
		}
		must.Get(nodes("a", "b").Replay(ctx, at))(h)
		h.want("branches behind a good one", len(must.Get(app.Branches(ctx, "t"))(h)), 2)
	})
}

// TestRefusedReplayOfAFlow: an input that the flow's type no longer takes.
func TestRefusedReplayOfAFlow(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		old := must.Get(flow.New("f", func(ctx context.Context, n int) (int, error) {
			return step.Do(ctx, "a", func(context.Context) (int, error) { return n, nil })
		}).Open(h.led, nil))(h)
		must.Get(old.Run(ctx, "t", 1))(h)
		var at posthouse.ID
		for s, err := range old.History(ctx, "t", flow.HistoryOptions{Node: "a"}) {
			at = must.Get(s, err)(h).ID
		}
		now := must.Get(flow.New("f", func(_ context.Context, s []string) (int, error) { return len(s), nil }).Open(h.led, nil))(h)
		if _, err := now.Replay(ctx, at); err == nil {
			h.Error("the replay was not refused")
		}
		h.want("branches", len(must.Get(now.Branches(ctx, "t"))(h)), 1)
		must.Get(old.Replay(ctx, at))(h)
		h.want("branches behind a good one", len(must.Get(now.Branches(ctx, "t"))(h)), 2)
	})
}
