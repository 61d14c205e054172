package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// A join waits for branches of different lengths, and a deferred node for
// branches that it does not know; each runs once.
func TestJoinsOfBranchesOfAnyLength(t *testing.T) {
	for _, how := range []string{"join", "defer", "edges"} {
		t.Run(how, func(t *testing.T) {
			g := graph.New[trail]("uneven")
			for _, n := range []string{"a", "b1", "b2", "c1", "c2", "c3"} {
				g.Node(n, visit(n))
			}
			g.Node("last", visit("last"), graph.NodeOptions{Defer: how == "defer"})
			for _, e := range []string{"a", "b1 b2", "c1 c2 c3"} {
				from := graph.Start
				for n := range strings.SplitSeq(e, " ") {
					g.Edge(from, n)
					from = n
				}
				if how != "join" {
					g.Edge(from, "last")
				}
			}
			want := "a b1 c1 b2 c2 c3 last"
			switch how {
			case "join":
				g.Join("last", "a", "b2", "c3")
			case "edges": // a node with an edge from each runs after each
				want = "a b1 c1 last b2 c2 last c3 last"
			}
			g.Edge("last", graph.End)
			out := must.Get(compile(t, g, newLedger(t), nil).Run(t.Context(), "t", trail{}))(t)
			if got := strings.Join(out.State.Nodes, " "); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		})
	}
}

// A join in a loop counts from zero each time round.
func TestJoinInALoop(t *testing.T) {
	g := graph.New[trail]("loop")
	g.Node("fork", func(_ context.Context, s *trail) error { s.N++; return nil })
	g.Node("left", visit("left"))
	g.Node("right", visit("right"))
	g.Node("join", visit("join"))
	g.Edge(graph.Start, "fork")
	g.Edge("fork", "left")
	g.Edge("fork", "right")
	g.Join("join", "left", "right")
	g.Route("join", func(s *trail) string {
		if s.N < 2 {
			return "fork"
		}
		return graph.End
	}, "fork", graph.End)
	out := must.Get(compile(t, g, newLedger(t), nil).Run(t.Context(), "t", trail{}))(t)
	wantList(t, "nodes", out.State.Nodes, "left", "right", "join", "left", "right", "join")
}

// Branches choose their ways by themselves, beside each other. A join that one
// of them never comes to is an error that says who is missing, not a run that
// ends as if all were done; the thread is moved on by hand.
func TestJoinThatIsNeverMet(t *testing.T) {
	g := graph.New[trail]("unmet")
	g.Node("a", visit("a"))
	g.Node("b", visit("b"))
	g.Node("side", visit("side"))
	g.Node("b2", visit("b2"))
	g.Node("join", visit("join"))
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Route("b", func(s *trail) string { return s.Go }, "b2", "side")
	g.Join("join", "a", "b2")
	g.Edge("side", graph.End)
	g.Edge("join", graph.End)
	app := compile(t, g, newLedger(t), nil)
	out := must.Get(app.Run(t.Context(), "met", trail{Go: "b2"}))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b", "b2", "join")
	_, err := app.Run(t.Context(), "t", trail{Go: "side"})
	var j *graph.JoinError
	if !errors.As(err, &j) || j.Node != "join" || !slices.Equal(j.Arrived, []string{"a"}) || !slices.Equal(j.Missing, []string{"b2"}) {
		t.Fatal(err)
	}
	if s := must.Get(app.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed {
		t.Fatalf("%+v", s)
	}
	must.Get(app.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "join"}))(t)
	if out := must.Get(app.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusDone {
		t.Fatalf("output %+v", out)
	}
}

// A command at the top updates, leads to several nodes and sends inputs at
// once; all of it runs in one step.
func TestCommandLeadsAndSends(t *testing.T) {
	var mu sync.Mutex
	var at, most int
	all := make(chan struct{})
	meet := func() { // three run at once, or no node goes on
		mu.Lock()
		defer mu.Unlock()
		if at++; at == 3 {
			close(all)
		}
		most = max(most, at)
	}
	g := graph.New[trail]("command")
	g.Command("a", func(_ context.Context, s *trail) (graph.Command, error) {
		s.N = 5
		return graph.Command{Goto: []string{"b"}, Send: []graph.Send{{Node: "fetch", Input: "x"}, {Node: "fetch", Input: "y"}}}, nil
	}, graph.NodeOptions{Targets: []string{"b", "fetch"}})
	g.Node("b", func(ctx context.Context, s *trail) error {
		meet()
		<-all
		s.Nodes = append(s.Nodes, "b")
		return nil
	})
	graph.Task(g, "fetch", func(ctx context.Context, in string, out *trail) error {
		meet()
		<-all
		out.Nodes = []string{"fetch " + in}
		return nil
	})
	g.Edge(graph.Start, "a")
	g.Edge("b", graph.End)
	g.Edge("fetch", graph.End)
	out := must.Get(compile(t, g, newLedger(t), nil).Run(t.Context(), "t", trail{}))(t)
	wantList(t, "nodes", out.State.Nodes, "b", "fetch x", "fetch y")
	if out.State.N != 5 || most != 3 {
		t.Fatalf("%+v, %d at once", out.State, most)
	}
}

// By default tasks beside one that fails may finish, and are paid for once;
// with FailFast their contexts end.
func TestFailFast(t *testing.T) {
	for _, fast := range []bool{false, true} {
		failed := make(chan struct{})
		broken, finished := true, 0
		g := graph.New[trail]("fast")
		g.Node("bad", func(context.Context, *trail) error {
			if broken {
				defer close(failed)
				return errBoom
			}
			return nil
		})
		g.Node("slow", func(ctx context.Context, s *trail) error {
			<-failed
			if fast && broken {
				<-ctx.Done()
				return ctx.Err()
			}
			finished++
			s.Nodes = append(s.Nodes, "slow")
			return nil
		})
		for _, n := range []string{"bad", "slow"} {
			g.Edge(graph.Start, n)
			g.Edge(n, graph.End)
		}
		app := compile(t, g, newLedger(t), &graph.CompileOptions{FailFast: fast})
		_, err := app.Run(t.Context(), "t", trail{})
		var n *graph.NodeError
		if !errors.As(err, &n) || n.Node != "bad" {
			t.Fatalf("fast %v, error %v", fast, err)
		}
		if want := map[bool]int{false: 1, true: 0}[fast]; finished != want {
			t.Fatalf("fast %v, finished %v", fast, finished)
		}
		broken = false
		out := must.Get(app.Resume(t.Context(), "t"))(t)
		wantList(t, "nodes", out.State.Nodes, "slow")
		if finished != 1 {
			t.Fatalf("fast %v, finished %v", fast, finished)
		}
	}
}
