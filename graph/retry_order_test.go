package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// The timer that a retry parked on is not a step that the node must ask for.
func TestRetryOfANodeWithRecordedSteps(t *testing.T) {
	now, tries := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	l := open(t, memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	g := graph.New[trail]("retry")
	g.Node("a", func(ctx context.Context, s *trail) error {
		v, err := do(ctx, "first", func() (int, error) { return 7, nil })
		if err != nil {
			return err
		}
		if tries++; tries < 3 {
			return errBoom
		}
		s.N, err = do(ctx, "second", func() (int, error) { return v + 1, nil })
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Minute}})
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, l, &graph.CompileOptions{HoldFor: -1})
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	for range 2 {
		if out.Status != posthouse.StatusWaiting {
			t.Fatalf("output %+v", out)
		}
		now = now.Add(5 * time.Minute)
		out = must.Get(a.Resume(t.Context(), "t"))(t)
	}
	if out.Status != posthouse.StatusDone || out.State.N != 8 {
		t.Fatalf("output %+v", out)
	}
}
