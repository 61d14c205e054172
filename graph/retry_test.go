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

// A failed attempt's changes to the state are gone, also if the thread parks
// until the next one; that one runs after a restart, not before it is due.
func TestRetryIsParkedOverWhatWasBeforeIt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store, tries := memstore.New(), 0
	fresh := func() *graph.App[lists] {
		g := graph.New[lists]("retry")
		g.Node("a", func(_ context.Context, s *lists) error {
			if tries++; tries == 1 {
				s.Flat = s.Flat[:1]
				s.Deep[0].Tags["x"] = 99
				return errBoom
			}
			s.N = s.Deep[0].Tags["x"]
			return nil
		}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Minute}})
		g.Edge(graph.Start, "a")
		g.Edge("a", graph.End)
		return compile(t, g, open(t, store, &ledger.Options{Now: func() time.Time { return now }}), nil)
	}
	out := must.Get(fresh().Run(t.Context(), "t", someLists()))(t)
	if out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateTimer || len(out.State.Flat) != 2 {
		t.Fatalf("output %+v", out)
	}
	now = now.Add(59 * time.Second)
	app := fresh()
	if h := history(t, app, "t"); h[0].Status != posthouse.StatusWaiting || tries != 1 {
		t.Fatalf("%+v after %d tries", h[0], tries)
	}
	now = now.Add(2 * time.Second)
	out = must.Get(fresh().Resume(t.Context(), "t"))(t)
	if out.Status != posthouse.StatusDone || out.State.N != 1 || tries != 2 {
		t.Fatalf("%+v after %d tries", out, tries)
	}
}
