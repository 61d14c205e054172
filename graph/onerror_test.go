package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// The handler of a node runs once the node's retries are used up, on the state
// from before it, with its error, and leads where it says. It may ask: after
// the answer, and in another process, the handler runs again and the node does
// not.
func TestOnErrorRunsInPlaceOfTheNode(t *testing.T) {
	store, tries := memstore.New(), 0
	var causes []error
	fresh := func() (*ledger.Ledger, *graph.App[trail]) {
		g := graph.New[trail]("handled")
		g.Node("a", func(_ context.Context, s *trail) error {
			tries++
			s.Nodes = append(s.Nodes, "discarded")
			return errBoom
		}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}, Targets: []string{"rescue"}})
		g.Node("usual", visit("usual"))
		g.Node("rescue", visit("rescue"))
		g.OnError("a", func(ctx context.Context, s *trail, err error) (graph.Command, error) {
			causes = append(causes, err)
			d, err := ask(ctx, "go on?")
			if err != nil {
				return graph.Command{}, err
			}
			s.Nodes = append(s.Nodes, "handler "+string(d.Verdict))
			return graph.Goto("rescue"), nil
		})
		g.Edge(graph.Start, "a")
		g.Edge("a", "usual")
		g.Edge("usual", graph.End)
		g.Edge("rescue", graph.End)
		l := open(t, store, nil)
		return l, compile(t, g, l, nil)
	}
	_, app := fresh()
	out := must.Get(app.Run(t.Context(), "t", trail{}))(t)
	if out.Status != posthouse.StatusWaiting || tries != 3 {
		t.Fatalf("%+v after %d tries", out, tries)
	}
	l, app := fresh()
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	out = must.Get(app.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "handler approve", "rescue")
	if tries != 3 || len(causes) != 2 {
		t.Fatalf("%d tries, handled %d times", tries, len(causes))
	}
	for _, err := range causes {
		var n *graph.NodeError
		if !errors.As(err, &n) || n.Node != "a" || n.Err.Error() != "boom" {
			t.Errorf("the handler was told %v", err)
		}
	}
}

// That the node failed is on record before its handler runs: a process that
// dies in the handler leaves the handler to run again, not the node.
func TestOnErrorAfterACrashInTheHandler(t *testing.T) {
	store, tries, handled := memstore.New(), 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	g := graph.New[trail]("handled")
	g.Node("a", func(context.Context, *trail) error { tries++; return errBoom })
	g.OnError("a", func(ctx context.Context, s *trail, _ error) (graph.Command, error) {
		if handled++; handled == 1 {
			cancel() // as far as the log knows, the process is gone
			return graph.Command{}, ctx.Err()
		}
		s.Nodes = append(s.Nodes, "handled")
		return graph.Command{}, nil
	})
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	_, err := compile(t, g, open(t, store, nil), nil).Run(ctx, "t", trail{})
	must.Fail(t, err, context.Canceled)
	out := must.Get(compile(t, g, open(t, store, nil), nil).Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "handled", "b") // where the node would have led
	if tries != 1 || handled != 2 {
		t.Fatalf("%d tries, handled %d times", tries, handled)
	}
}

// A handler that fails, or panics, fails the run with its own error, and the
// next resume goes on with the handler.
func TestOnErrorThatFails(t *testing.T) {
	worse, tries, handled := errors.New("worse"), 0, 0
	g := graph.New[trail]("handled")
	g.Node("a", func(context.Context, *trail) error { tries++; return errBoom })
	g.OnError("a", func(_ context.Context, _ *trail, _ error) (graph.Command, error) {
		switch handled++; handled {
		case 1:
			return graph.Command{}, worse
		case 2:
			panic("on the floor")
		}
		return graph.Stop(), nil
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	app := compile(t, g, newLedger(t), nil)
	_, err := app.Run(t.Context(), "t", trail{})
	must.Fail(t, err, worse)
	if s := must.Get(app.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed || s.Error != "worse" {
		t.Fatalf("%+v", s)
	}
	var n *graph.NodeError
	_, err = app.Resume(t.Context(), "t")
	if !errors.As(err, &n) || n.Node != "a" {
		t.Fatal(err)
	}
	if out := must.Get(app.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusDone || tries != 1 || handled != 3 {
		t.Fatalf("%+v, %d tries, handled %d times", out, tries, handled)
	}
}
