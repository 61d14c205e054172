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
	"github.com/posthouse/posthouse/step"
)

// A node that takes too long, or shows no life, fails with what it took; signs
// of life keep the second limit away and not the first.
func TestTimeouts(t *testing.T) {
	busy := func(ctx context.Context, beat bool) error {
		for range 10 {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			if beat {
				graph.Heartbeat(ctx)
			}
		}
		return nil
	}
	for _, c := range []struct {
		name string
		beat bool
		opt  graph.NodeOptions
		idle bool
		ends bool
	}{
		{"in time", false, graph.NodeOptions{Timeout: 11 * time.Second}, false, true},
		{"too long", false, graph.NodeOptions{Timeout: 5 * time.Second}, false, false},
		{"too long, but alive", true, graph.NodeOptions{Timeout: 5 * time.Second, IdleTimeout: 2 * time.Second}, false, false},
		{"no sign of life", false, graph.NodeOptions{IdleTimeout: 5 * time.Second}, true, false},
		{"signs of life", true, graph.NodeOptions{IdleTimeout: 2 * time.Second}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app := compile(t, single(func(ctx context.Context, s *trail) error { s.N = 1; return busy(ctx, c.beat) }, c.opt), newLedger(t), nil)
				out, err := app.Run(t.Context(), "t", trail{})
				if c.ends {
					if err != nil || out.State.N != 1 {
						t.Fatalf("output %v, error %v", out, err)
					}
					return
				}
				var e *runs.TimeoutError
				if !errors.As(err, &e) || e.Idle != c.idle || e.After != 5*time.Second || e.Abandoned || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				if s := must.Get(app.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed || s.State.N != 0 {
					t.Fatalf("%+v", s)
				}
			})
		})
	}
}

// A node that blocks for ever is given up; the next attempt runs on the state
// from before it, and nothing that the first still does is on record.
func TestANodeThatBlocksForEverIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, over := make(chan struct{}), make(chan error, 1)
		var tries atomic.Int32
		app := compile(t, single(func(ctx context.Context, s *trail) error {
			if tries.Add(1) > 1 {
				s.N++
				return nil
			}
			s.N = 99
			<-let // does not heed its context
			s.N = 100
			_, err := step.Do(ctx, "late", func(context.Context) (int, error) { return 1, nil })
			over <- err
			return nil
		}, graph.NodeOptions{Timeout: time.Second, Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}), newLedger(t), nil)
		out := must.Get(app.Run(t.Context(), "t", trail{N: 1}))(t)
		if out.State.N != 2 || tries.Load() != 2 {
			t.Fatalf("%+v after %d tries", out.State, tries.Load())
		}
		before := len(history(t, app, "t"))
		close(let)
		must.Fail(t, <-over, posthouse.ErrClosed)
		if s := must.Get(app.State(t.Context(), "t"))(t); s.State.N != 2 || len(history(t, app, "t")) != before {
			t.Fatalf("%+v", s)
		}
	})
}

// Without a retry the run fails, and says that the node was given up.
func TestGivenUpIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		defer close(let)
		app := compile(t, single(func(context.Context, *trail) error { <-let; return nil }, graph.NodeOptions{Timeout: time.Second}), newLedger(t), nil)
		_, err := app.Run(t.Context(), "t", trail{})
		var e *runs.TimeoutError
		if !errors.As(err, &e) || !e.Abandoned {
			t.Fatal(err)
		}
	})
}

// A node's goroutines have no effect once it has returned.
func TestStepsAfterTheNodeReturned(t *testing.T) {
	let, over := make(chan struct{}), make(chan error, 2)
	app := compile(t, single(func(ctx context.Context, _ *trail) error {
		go func() {
			<-let
			_, err := step.Do(ctx, "late", func(context.Context) (int, error) { return 1, nil })
			over <- err
			_, err = ask(ctx, "late?")
			over <- err
		}()
		return nil
	}, graph.NodeOptions{}), newLedger(t), nil)
	out := must.Get(app.Run(t.Context(), "t", trail{}))(t)
	close(let)
	must.Fail(t, <-over, posthouse.ErrClosed)
	must.Fail(t, <-over, posthouse.ErrClosed)
	if out.Status != posthouse.StatusDone || len(history(t, app, "t")) != 2 {
		t.Fatalf("output %+v", out)
	}
}

// A send may bring time limits of its own, in place of its task's; they are on
// record with its input.
func TestTimeoutOfASend(t *testing.T) {
	type state struct {
		Did []string `posthouse:"append"`
	}
	run := func(t *testing.T, sends ...graph.Send) (*graph.Snapshot[state], error) {
		l := newLedger(t)
		g := graph.New[state]("sends")
		graph.Task(g, "wait", func(ctx context.Context, seconds int, s *state) error {
			select {
			case <-time.After(time.Duration(seconds) * time.Second):
				s.Did = append(s.Did, time.Duration(seconds).String())
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, graph.NodeOptions{Timeout: 10 * time.Second})
		g.Map(graph.Start, func(*state) []graph.Send { return sends }, "wait")
		g.Edge("wait", graph.End)
		if _, err := compile(t, g, l, &graph.CompileOptions{InterruptBefore: []string{"wait"}}).Run(t.Context(), "t", state{}); err != nil {
			return nil, err
		}
		app := compile(t, g, l, nil) // another process
		_, err := app.Resume(t.Context(), "t")
		return must.Get(app.State(t.Context(), "t"))(t), err
	}
	send := func(seconds int, timeout, idle time.Duration) graph.Send {
		return graph.Send{Node: "wait", Input: seconds, Timeout: timeout, IdleTimeout: idle}
	}
	for name, c := range map[string]struct {
		sends []graph.Send
		after time.Duration
		idle  bool
	}{
		"the task's":      {[]graph.Send{send(5, 0, 0), send(15, 0, 0)}, 10 * time.Second, false},
		"longer":          {[]graph.Send{send(5, 0, 0), send(15, 20*time.Second, 0)}, 0, false},
		"shorter":         {[]graph.Send{send(5, 0, 0), send(5, 2*time.Second, 0)}, 2 * time.Second, false},
		"no sign of life": {[]graph.Send{send(5, 0, 0), send(5, 0, 3*time.Second)}, 3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := run(t, c.sends...)
				var e *runs.TimeoutError
				switch {
				case c.after == 0 && (err != nil || len(s.State.Did) != 2):
					t.Fatal(s, err)
				case c.after == 0:
				case !errors.As(err, &e) || e.After != c.after || e.Idle != c.idle || s.Status != posthouse.StatusFailed:
					t.Fatal(err)
				}
			})
		})
	}
	for _, bad := range []graph.Send{send(1, -1, 0), send(1, 0, -1)} {
		_, err := run(t, bad)
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}
