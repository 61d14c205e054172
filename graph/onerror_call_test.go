package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// A call of a subgraph has ended once its failure was handled. The next call begins with its
// own input, from its start, and its steps have keys of their own.
func TestTheCallAfterAHandledOneBegins(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprint(life, "/beside=", beside), func(t *testing.T) {
				round := 0
				var did []string
				sub := graph.New[innerState]("sub")
				for _, n := range []string{"first", "pay"} {
					sub.Node(n, func(ctx context.Context, s *innerState) error {
						_, err := step.DoWith(ctx, "do", step.Options{Effect: posthouse.EffectExternal}, func(ctx context.Context) (string, error) {
							did = append(did, fmt.Sprint(n, " ", s.Topic, " ", step.Key(ctx)))
							return "", nil
						})
						if err == nil && n == "pay" && round == 0 {
							err = errBoom
						}
						return err
					})
				}
				sub.Edge(graph.Start, "first")
				sub.Edge("first", "pay")
				sub.Edge("pay", graph.End)
				g := graph.New[outerState]("outer")
				graph.Subgraph(g, "call", sub, &graph.SubOptions[outerState, innerState]{
					In: func(*outerState) innerState { return innerState{Topic: fmt.Sprint("round ", round)} }, Lifetime: life,
				})
				g.OnError("call", func(context.Context, *outerState, error) (graph.Command, error) { return graph.Command{}, nil })
				g.Node("count", func(context.Context, *outerState) error { round++; return nil })
				g.Edge(graph.Start, "call")
				if beside {
					g.Node("beside", func(context.Context, *outerState) error { return nil })
					g.Edge(graph.Start, "beside")
					g.Edge("beside", graph.End)
				}
				g.Edge("call", "count")
				g.Route("count", func(*outerState) string {
					if round < 2 {
						return "call"
					}
					return graph.End
				}, "call", graph.End)
				app := compile(t, g, newLedger(t), nil)
				must.Get(app.Run(t.Context(), "t", outerState{}))(t)
				want := []string{
					"first round 0 t/1/call>2/first/do/0", "pay round 0 t/1/call>3/pay/do/0",
					"first round 1 t/3/call>2/first/do/0", "pay round 1 t/3/call>3/pay/do/0",
				}
				if !slices.Equal(did, want) {
					t.Errorf("did %q,\nwant %q", did, want)
				}
			})
		}
	}
}
