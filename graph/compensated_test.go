package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestCompensatedNode: a node's Retry ends with a failure after which something is on record, at
// once, and so does a resume. A step that failed after a fallback is tried again.
func TestCompensatedNode(t *testing.T) {
	type state struct{ Out string }
	for _, fallback := range []bool{false, true} {
		broken, ran, finished := true, []string{}, 0
		do := func(ctx context.Context, name string) error {
			_, err := step.Do(ctx, name, func(context.Context) (string, error) {
				ran = append(ran, name)
				switch {
				case name == "ship" && broken:
					return "", errors.New("no carrier")
				case name == "finish":
					if finished++; finished < 3 {
						return "", errors.New("busy")
					}
				}
				return name, nil
			})
			return err
		}
		g := graph.New[state]("saga")
		g.Node("order", func(ctx context.Context, s *state) error {
			if err := do(ctx, "ship"); err != nil {
				if e := do(ctx, "refund"); e != nil {
					return e
				}
				if fallback {
					return do(ctx, "finish")
				}
				return err
			}
			s.Out = "shipped"
			return nil
		}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Millisecond, Backoff: posthouse.Fixed}})
		g.Edge(graph.Start, "order")
		g.Edge("order", graph.End)
		l := must.Get(ledger.Open(memstore.New(), nil))(t)
		app := must.Get(g.Compile(l, nil))(t)
		_, err := app.Run(t.Context(), "t", state{})
		if fallback {
			if err != nil || fmt.Sprint(ran) != "[ship refund finish finish finish]" {
				t.Fatal(err, ran)
			}
			continue
		}
		if err == nil {
			t.Fatal("it did not fail")
		}
		head := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"}))(t)
		if head.Attempts > 1 {
			t.Errorf("%d attempts", head.Attempts)
		}
		plan := must.Get(ledger.PlanResume(t.Context(), l, "t", ""))(t)
		if len(plan.Stands) != 1 || !plan.Stands[0].Ended {
			t.Fatalf("%+v", plan.Stands)
		}
		broken = false
		if _, err := app.Resume(t.Context(), "t"); err == nil {
			t.Fatal("it was done again")
		}
		if fmt.Sprint(ran) != "[ship refund]" {
			t.Fatal(ran)
		}
	}
}
