package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runs"
)

// Retries of the whole graph are those of each node that says nothing, also
// within subgraphs and inlined graphs, and not once more around a subgraph.
func TestRetryOfAllNodes(t *testing.T) {
	all := posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}
	for name, c := range map[string]struct {
		own  posthouse.RetryPolicy // of the node, or of what calls it
		wrap func(inner *graph.Graph[trail], own graph.NodeOptions) *graph.Graph[trail]
		want int
	}{
		"plain":              {want: 3},
		"its own":            {own: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}, want: 2},
		"none":               {own: posthouse.RetryPolicy{MaxAttempts: 1}, want: 1},
		"inlined":            {want: 3, wrap: inlined},
		"subgraph":           {want: 3, wrap: called},
		"subgraph's own":     {own: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}, want: 4, wrap: called}, // attempts of the node inside stay counted
		"subgraph in thread": {want: 3, wrap: calledApart},
	} {
		tries := 0
		fail := func(context.Context, *trail) error { tries++; return errBoom }
		g := single(fail, graph.NodeOptions{Retry: c.own})
		if c.wrap != nil {
			g = c.wrap(single(fail, graph.NodeOptions{}), graph.NodeOptions{Retry: c.own})
		}
		app := compile(t, g, newLedger(t), &graph.CompileOptions{Retry: all})
		if _, err := app.Run(t.Context(), "t", trail{}); !errors.Is(err, errBoom) && tries == 0 || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		if tries != c.want {
			t.Errorf("%s: %d tries, want %d", name, tries, c.want)
		}
	}
}

func inlined(inner *graph.Graph[trail], _ graph.NodeOptions) *graph.Graph[trail] {
	g := graph.New[trail]("around")
	g.Inline("in", inner)
	g.Edge(graph.Start, "in")
	g.Edge("in", graph.End)
	return g
}

func called(inner *graph.Graph[trail], o graph.NodeOptions) *graph.Graph[trail] {
	return calling(inner, &graph.SubOptions[trail, trail]{Node: o})
}

func calledApart(inner *graph.Graph[trail], o graph.NodeOptions) *graph.Graph[trail] {
	return calling(inner, &graph.SubOptions[trail, trail]{Node: o, OwnThread: true})
}

func calling(inner *graph.Graph[trail], o *graph.SubOptions[trail, trail]) *graph.Graph[trail] {
	g := graph.New[trail]("around")
	graph.Subgraph(g, "in", inner, o)
	g.Edge(graph.Start, "in")
	g.Edge("in", graph.End)
	return g
}

// So do time limits of the whole graph; a subgraph is not bounded as a whole.
func TestTimeoutOfAllNodes(t *testing.T) {
	for name, c := range map[string]struct {
		all   graph.CompileOptions
		own   graph.NodeOptions
		after time.Duration // 0: it ends
	}{
		"timeout":      {all: graph.CompileOptions{Timeout: time.Second}, after: time.Second},
		"idle":         {all: graph.CompileOptions{IdleTimeout: time.Second}, after: time.Second},
		"its own":      {all: graph.CompileOptions{Timeout: time.Second}, own: graph.NodeOptions{Timeout: 2 * time.Second}, after: 2 * time.Second},
		"none":         {all: graph.CompileOptions{Timeout: time.Second}, own: graph.NodeOptions{Timeout: -1}},
		"none of idle": {all: graph.CompileOptions{IdleTimeout: time.Second}, own: graph.NodeOptions{IdleTimeout: -1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(ctx context.Context, s *trail) error {
				select {
				case <-time.After(3 * time.Second):
				case <-ctx.Done():
				}
				return ctx.Err()
			}
			_, err := compile(t, single(slow, c.own), newLedger(t), &c.all).Run(t.Context(), "t", trail{})
			var e *runs.TimeoutError
			if late := errors.As(err, &e); late != (c.after > 0) || late && e.After != c.after || !late && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // two nodes of 0.7 s each
		inner := graph.New[trail]("inner")
		for _, n := range []string{"a", "b"} {
			inner.Node(n, func(context.Context, *trail) error { time.Sleep(700 * time.Millisecond); return nil })
		}
		inner.Edge(graph.Start, "a")
		inner.Edge("a", "b")
		inner.Edge("b", graph.End)
		app := compile(t, called(inner, graph.NodeOptions{}), newLedger(t), &graph.CompileOptions{Timeout: time.Second})
		if out := must.Get(app.Run(t.Context(), "t", trail{}))(t); out.Status != posthouse.StatusDone {
			t.Error(out)
		}
	})
}

func TestBadDefaultsOfNodes(t *testing.T) {
	wantProblems(t, problems(t, line("a"), newLedger(t), &graph.CompileOptions{Retry: posthouse.RetryPolicy{Jitter: 2}, Timeout: -1}), "Retry: Jitter", "time limit")
	wantProblems(t, problems(t, line("a"), newLedger(t), &graph.CompileOptions{IdleTimeout: -1}), "time limit")
}
