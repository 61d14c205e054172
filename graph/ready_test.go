package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

// A signal that comes while its node is about to wait is not slept over.
func TestSignalBeforeTheWaitIsOnRecord(t *testing.T) {
	l := newLedger(t)
	asked := false
	g := graph.New[trail]("g")
	g.Node("a", func(ctx context.Context, s *trail) error {
		v, err := step.Signal[string](ctx, "go", step.SignalOptions{})
		if err == nil {
			s.Go = v
			return nil
		}
		if !asked {
			asked = true
			if _, err := l.Signal(ctx, "t", posthouse.Signal{Name: "go", Value: json.RawMessage(`"now"`)}); err != nil {
				t.Error(err)
			}
		}
		return err
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	out, err := compile(t, g, l, nil).Run(t.Context(), "t", trail{})
	if err != nil || out.Status != posthouse.StatusDone || out.State.Go != "now" {
		t.Fatalf("output %v, error %v", out, err)
	}
}
