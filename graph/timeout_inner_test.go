package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runs"
)

// limitedSubs are graphs with a node "outer" that has a limit of a second and
// runs fn in a subgraph: in the thread, in a thread of its own, in one within
// another, and beside a second node.
func limitedSubs(fn func(context.Context, *trail) error, retry int) map[string]*graph.Graph[trail] {
	opt := graph.NodeOptions{Timeout: time.Second, Retry: posthouse.RetryPolicy{MaxAttempts: retry + 1, InitialDelay: -1}}
	out := func(s, in *trail) error { s.N += in.N; return nil }
	wrap := func(sub *graph.Graph[trail], own bool, o graph.NodeOptions) *graph.Graph[trail] {
		g := graph.New[trail]("g")
		graph.Subgraph(g, "outer", sub, &graph.SubOptions[trail, trail]{Out: out, OwnThread: own, Node: o})
		g.Edge(graph.Start, "outer")
		g.Edge("outer", graph.End)
		return g
	}
	beside := single(fn, graph.NodeOptions{})
	beside.Node("second", func(context.Context, *trail) error { return nil })
	beside.Edge(graph.Start, "second")
	beside.Edge("second", graph.End)
	handled := single(func(context.Context, *trail) error { return errBoom }, graph.NodeOptions{})
	handled.OnError("n", func(ctx context.Context, s *trail, _ error) (graph.Command, error) {
		return graph.Command{}, fn(ctx, s)
	})
	return map[string]*graph.Graph[trail]{
		"inner":      wrap(single(fn, graph.NodeOptions{}), false, opt),
		"own thread": wrap(single(fn, graph.NodeOptions{}), true, opt),
		"deep":       wrap(wrap(single(fn, graph.NodeOptions{}), false, graph.NodeOptions{}), false, opt),
		"beside":     wrap(beside, false, opt),
		"handler":    wrap(handled, false, opt),
	}
}

// A subgraph's time is up although a node in it does not heed its context: that
// node is given up, and the next attempt runs on what is on record.
func TestTimeoutOfASubgraphWhoseNodeBlocks(t *testing.T) {
	for name := range limitedSubs(nil, 0) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				let := make(chan struct{})
				defer close(let)
				app := compile(t, limitedSubs(func(context.Context, *trail) error { <-let; return nil }, 0)[name], newLedger(t), nil)
				began := time.Now()
				_, err := app.Run(t.Context(), "t", trail{})
				var e *runs.TimeoutError
				if !errors.As(err, &e) || e.Node != "outer" || !e.Abandoned {
					t.Fatal(err)
				}
				if d := time.Since(began); d > 3*time.Second {
					t.Fatalf("it took %s", d)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				let := make(chan struct{})
				var tries atomic.Int32
				app := compile(t, limitedSubs(func(_ context.Context, s *trail) error {
					if tries.Add(1) == 1 {
						s.N = 99
						<-let
						s.N = 100
					}
					s.N++
					return nil
				}, 1)[name], newLedger(t), nil)
				out := must.Get(app.Run(t.Context(), "t", trail{N: 10}))(t)
				close(let)
				synctest.Wait()
				if s := must.Get(app.State(t.Context(), "t"))(t); out.State.N != 11 || s.State.N != 11 || tries.Load() != 2 {
					t.Fatalf("%+v after %d tries, %+v", out, tries.Load(), s)
				}
			})
		})
	}
}

// A subgraph that completed after its time has failed all the same, and its
// result is dropped.
func TestTimeoutOfASubgraphThatEndsLate(t *testing.T) {
	for name := range limitedSubs(nil, 0) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := compile(t, limitedSubs(func(_ context.Context, s *trail) error {
					s.N = 5
					time.Sleep(1500 * time.Millisecond) // within the grace
					return nil
				}, 0)[name], newLedger(t), nil)
				_, err := app.Run(t.Context(), "t", trail{N: 10})
				var e *runs.TimeoutError
				if !errors.As(err, &e) || e.Node != "outer" || e.Abandoned {
					t.Fatal(err)
				}
				if s := must.Get(app.State(t.Context(), "t"))(t); s.State.N != 10 {
					t.Fatalf("%+v", s)
				}
			})
		})
	}
}

// A heartbeat in a subgraph counts for the node around it.
func TestIdleTimeoutOfALivelySubgraph(t *testing.T) {
	for _, own := range []bool{false, true} {
		for _, lively := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				sub := single(func(ctx context.Context, s *trail) error {
					for range 5 {
						time.Sleep(600 * time.Millisecond)
						if lively {
							graph.Heartbeat(ctx)
						}
					}
					s.N = 5
					return ctx.Err()
				}, graph.NodeOptions{})
				g := graph.New[trail]("g")
				graph.Subgraph(g, "outer", sub, &graph.SubOptions[trail, trail]{
					Out:       func(s, in *trail) error { s.N = in.N; return nil },
					OwnThread: own, Node: graph.NodeOptions{IdleTimeout: time.Second},
				})
				g.Edge(graph.Start, "outer")
				g.Edge("outer", graph.End)
				out, err := compile(t, g, newLedger(t), nil).Run(t.Context(), "t", trail{})
				var e *runs.TimeoutError
				if lively && (err != nil || out.State.N != 5) || !lively && (!errors.As(err, &e) || !e.Idle) {
					t.Errorf("own thread %v, lively %v: %+v, %v", own, lively, out, err)
				}
				time.Sleep(time.Minute) // until the node that was given up has ended
			})
		}
	}
}
