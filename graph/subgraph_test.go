package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type outerState struct {
	Topic string
	Log   []string `posthouse:"append"`
}

type innerState struct {
	Topic string
	Notes []string `posthouse:"append"`
	Calls int
}

func visitInner(name string) func(context.Context, *innerState) error {
	return func(_ context.Context, s *innerState) error { s.Notes = append(s.Notes, name); return nil }
}

// research is plan -> ask -> write.
func research(ran *atomic.Int32) *graph.Graph[innerState] {
	g := graph.New[innerState]("research")
	g.Node("plan", func(_ context.Context, s *innerState) error {
		ran.Add(1)
		s.Calls++
		s.Notes = append(s.Notes, "plan "+s.Topic)
		return nil
	})
	g.Node("ask", func(ctx context.Context, s *innerState) error {
		paid, err := step.Do(ctx, "pay", func(context.Context) (int, error) { return int(ran.Add(100)), nil })
		if err != nil {
			return err
		}
		a, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
		if err != nil {
			return err
		}
		s.Notes = append(s.Notes, fmt.Sprint(string(a.Verdict), " ", paid))
		return nil
	})
	g.Node("write", visitInner("write"))
	g.Edge(graph.Start, "plan")
	g.Edge("plan", "ask")
	g.Edge("ask", "write")
	g.Edge("write", graph.End)
	return g
}

func withResearch(t testing.TB, l *ledger.Ledger, ran *atomic.Int32, life graph.Lifetime) *graph.App[outerState] {
	g := graph.New[outerState]("outer")
	g.Node("before", func(_ context.Context, s *outerState) error { s.Log = append(s.Log, "before"); return nil })
	graph.Subgraph(g, "research", research(ran), &graph.SubOptions[outerState, innerState]{
		In:       func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out:      func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
		Lifetime: life,
	})
	g.Edge(graph.Start, "before")
	g.Edge("before", "research")
	g.Edge("research", graph.End)
	return compile(t, g, l, nil)
}

// A subgraph waits, survives its process, and goes on inside.
func TestSubgraphWaitsInside(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread, graph.Unkept} {
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			ctx, l := t.Context(), newLedger(t)
			var ran atomic.Int32
			out, err := withResearch(t, l, &ran, life).Run(ctx, "t", outerState{Topic: "tea"})
			if err != nil || out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 || ran.Load() != 101 {
				t.Fatalf("output %v, error %v, ran.Load() %v", out, err, ran.Load())
			}
			if got := fmt.Sprint(out.Next, out.State.Log); got != "[research] [before]" {
				t.Fatal(got)
			}
			if _, err := l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
				t.Fatal(err)
			}
			out, err = withResearch(t, l, &ran, life).Resume(ctx, "t")
			if err != nil || out.Status != posthouse.StatusDone {
				t.Fatalf("output %v, error %v", out, err)
			}
			want := "before, plan tea, approve 101, write"
			if life == graph.Unkept {
				if ran.Load() != 102 { // plan began again; the payment did not
					t.Fatal(ran.Load())
				}
			} else if ran.Load() != 101 {
				t.Fatal(ran.Load())
			}
			if got := strings.Join(out.State.Log, ", "); got != want {
				t.Fatal(got)
			}
			c, err := l.Get(ctx, out.Checkpoint)
			if err != nil || len(c.Program) != map[graph.Lifetime]int{graph.PerCall: 0, graph.PerThread: 3, graph.Unkept: 0}[life] {
				t.Fatalf("c.Program %v, error %v", c.Program, err)
			}
		})
	}
}

// A thread that calls a subgraph twice goes on from its state only if it lives
// per thread.
func TestSubgraphLifetime(t *testing.T) {
	for life, want := range map[graph.Lifetime]string{graph.PerCall: "1 1", graph.PerThread: "1 2", graph.Unkept: "1 1"} {
		l := newLedger(t)
		sub := graph.New[innerState]("sub")
		sub.Node("count", func(_ context.Context, s *innerState) error { s.Calls++; return nil })
		sub.Edge(graph.Start, "count")
		sub.Edge("count", graph.End)
		g := graph.New[outerState]("outer")
		graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
			Out: func(s *outerState, in *innerState) error {
				s.Log = append(s.Log, fmt.Sprint(in.Calls))
				return nil
			}, Lifetime: life,
		})
		g.Edge(graph.Start, "sub")
		g.Route("sub", func(s *outerState) string {
			if len(s.Log) < 2 {
				return "sub"
			}
			return graph.End
		}, "sub", graph.End)
		out, err := compile(t, g, l, nil).Run(t.Context(), "t", outerState{})
		if err != nil || strings.Join(out.State.Log, " ") != want {
			t.Errorf("life %v, output %v, error %v", life, out, err)
		}
	}
}

// A fork inside a subgraph goes on inside it, without disturbing the original.
func TestForkInsideASubgraph(t *testing.T) {
	ctx, l := t.Context(), newLedger(t)
	var ran atomic.Int32
	app := withResearch(t, l, &ran, graph.PerCall)
	out, err := app.Run(ctx, "t", outerState{Topic: "tea"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []graph.ForkOptions{{}, {Thread: "other"}} {
		f, err := app.Fork(ctx, out.Checkpoint, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := app.Resume(ctx, f.Thread, graph.RunOptions{Branch: f.Branch})
		if err != nil || len(again.Waiting) != 1 || again.Waiting[0].ID == out.Waiting[0].ID {
			t.Fatalf("again %v, error %v", again, err)
		}
		if _, err := l.Decide(ctx, again.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"}); err != nil {
			t.Fatal(err)
		}
		again, err = app.Resume(ctx, f.Thread, graph.RunOptions{Branch: f.Branch})
		if err != nil || strings.Join(again.State.Log, ", ") != "before, plan tea, reject 101, write" {
			t.Fatalf("again %v, error %v", again, err)
		}
	}
	if s, err := app.State(ctx, "t"); err != nil || s.Status != posthouse.StatusWaiting || ran.Load() != 101 {
		t.Fatal(s, err, ran.Load())
	}
}

// Two subgraphs side by side: each keeps its place while the other goes on.
func TestSubgraphsBesideEachOther(t *testing.T) {
	ctx, l := t.Context(), newLedger(t)
	var ran atomic.Int32
	opt := &graph.SubOptions[outerState, innerState]{
		In:  func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out: func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
	}
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "one", research(&ran), opt)
	graph.Subgraph(g, "two", research(&ran), opt)
	g.Node("plain", func(_ context.Context, s *outerState) error { s.Log = append(s.Log, "plain"); return nil })
	for _, n := range []string{"one", "two", "plain"} {
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	app := compile(t, g, l, nil)
	out, err := app.Run(ctx, "t", outerState{Topic: "tea"})
	if err != nil || len(out.Waiting) != 2 {
		t.Fatalf("output %v, error %v", out, err)
	}
	for i, v := range []posthouse.Verdict{posthouse.Reject, posthouse.Approve} {
		if _, err := l.Decide(ctx, out.Waiting[1-i].ID, posthouse.Decision{Verdict: v, By: "bob"}); err != nil {
			t.Fatal(err)
		}
		res, err := app.Resume(ctx, "t")
		if want := []posthouse.Status{posthouse.StatusWaiting, posthouse.StatusDone}[i]; err != nil || len(res.Waiting) != 1-i || res.Status != want {
			t.Fatal(i, res, err)
		}
	}
	s, err := app.State(ctx, "t")
	if err != nil || s.Status != posthouse.StatusDone || ran.Load() != 202 || len(s.State.Log) != 7 || s.State.Log[6] != "plain" {
		t.Fatal(s, err, ran.Load())
	}
	c, _ := l.Get(ctx, s.ID)
	if len(c.Program) != 0 {
		t.Fatal(c.Program)
	}
}

// Command with Parent ends the subgraph and leads on around it; a failure in it
// is the node's.
func TestSubgraphEnds(t *testing.T) {
	sub := graph.New[innerState]("sub")
	sub.Command("decide", func(_ context.Context, s *innerState) (graph.Command, error) {
		switch s.Topic {
		case "up":
			return graph.Command{Goto: []string{"other"}, Parent: true}, nil
		case "fail":
			return graph.Command{}, errors.New("boom")
		}
		return graph.Goto("more"), nil
	}, graph.NodeOptions{Targets: []string{"more"}})
	sub.Node("more", visitInner("more"))
	sub.Edge(graph.Start, "decide")
	sub.Edge("more", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
		In:   func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out:  func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
		Node: graph.NodeOptions{Targets: []string{"other"}},
	})
	g.Node("other", func(_ context.Context, s *outerState) error { s.Log = append(s.Log, "other"); return nil })
	g.Edge(graph.Start, "sub")
	g.Edge("sub", graph.End)
	g.Edge("other", graph.End)
	app := compile(t, g, newLedger(t), nil)
	for topic, want := range map[string]string{"up": "other", "on": "more"} {
		out, err := app.Run(t.Context(), topic, outerState{Topic: topic})
		if err != nil || strings.Join(out.State.Log, " ") != want {
			t.Errorf("topic %v, output %v, error %v", topic, out, err)
		}
	}
	_, err := app.Run(t.Context(), "fail", outerState{Topic: "fail"})
	var n *graph.NodeError
	if !errors.As(err, &n) || n.Node != "sub" || n.Checkpoint == "" || !errors.As(n.Err, &n) || n.Node != "decide" {
		t.Fatal(err)
	}
	self := graph.New[innerState]("self")
	graph.Subgraph(self, "me", self, nil)
	self.Edge(graph.Start, "me")
	self.Edge("me", graph.End)
	if _, err := self.Compile(newLedger(t), nil); err == nil || !strings.Contains(err.Error(), "within itself") {
		t.Fatal(err)
	}
}

// The state inside is read and changed by its path, at any depth.
func TestWithin(t *testing.T) {
	ctx, l := t.Context(), newLedger(t)
	var ran atomic.Int32
	deep := graph.New[innerState]("deep")
	graph.Subgraph(deep, "down", research(&ran), &graph.SubOptions[innerState, innerState]{
		In:  func(s *innerState) innerState { return innerState{Topic: s.Topic} },
		Out: func(s *innerState, in *innerState) error { s.Notes = append(s.Notes, in.Notes...); return nil },
	})
	deep.Edge(graph.Start, "down")
	deep.Edge("down", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "deep", deep, &graph.SubOptions[outerState, innerState]{
		In:  func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out: func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
	})
	g.Edge(graph.Start, "deep")
	g.Edge("deep", graph.End)
	app := compile(t, g, l, nil)
	out, err := app.Run(ctx, "t", outerState{Topic: "tea"})
	if err != nil || len(out.Waiting) != 1 {
		t.Fatalf("output %v, error %v", out, err)
	}
	s, err := graph.Within[innerState](ctx, l, out.Checkpoint, "deep/down")
	if err != nil || s.Calls != 1 || strings.Join(s.Notes, " ") != "plan tea" {
		t.Fatal(s, err)
	}
	if _, err := graph.Within[innerState](ctx, l, out.Checkpoint, "other"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Fatal(err)
	}
	h, err := graph.UpdateWithin(ctx, l, out.Checkpoint, "deep/down", func(s *innerState) { s.Notes = []string{"mine"} })
	if err != nil || h.Parent != out.Checkpoint || h.Kind != posthouse.KindUpdate {
		t.Fatal(h, err)
	}
	out, err = app.Resume(ctx, "t")
	if err != nil || len(out.Waiting) != 1 {
		t.Fatalf("output %v, error %v", out, err)
	}
	if _, err := l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	out, err = app.Resume(ctx, "t")
	if err != nil || strings.Join(out.State.Log, ", ") != "mine, approve 101, write" {
		t.Fatalf("output %v, error %v", out, err)
	}
	// Led elsewhere, the subgraph starts over.
	again, err := app.Run(ctx, "t", outerState{Topic: "milk"})
	if err != nil || len(again.Waiting) != 1 {
		t.Fatalf("again %v, error %v", again, err)
	}
	if _, err := app.Update(ctx, "t", nil, graph.UpdateOptions{AsNode: "deep"}); err != nil {
		t.Fatal(err)
	}
	c, err := app.State(ctx, "t")
	if err != nil || c.Status != posthouse.StatusDone {
		t.Fatal(c, err)
	}
	again, err = app.Run(ctx, "t", outerState{Topic: "water"})
	if err != nil || len(again.Waiting) != 1 {
		t.Fatalf("again %v, error %v", again, err)
	}
	if s, err := graph.Within[innerState](ctx, l, again.Checkpoint, "deep/down"); err != nil || strings.Join(s.Notes, " ") != "plan water" {
		t.Fatal(s, err)
	}
}

// A static interrupt inside a subgraph stops the run there.
func TestInterruptInsideASubgraph(t *testing.T) {
	ctx, l := t.Context(), newLedger(t)
	sub := graph.New[innerState]("sub")
	for _, n := range []string{"a", "b", "c"} {
		sub.Node(n, visitInner(n), graph.NodeOptions{InterruptBefore: n == "b", InterruptAfter: n == "b"})
	}
	sub.Edge(graph.Start, "a")
	sub.Edge("a", "b")
	sub.Edge("b", "c")
	sub.Edge("c", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
		Out: func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
	})
	g.Edge(graph.Start, "sub")
	g.Edge("sub", graph.End)
	app := compile(t, g, l, nil)
	out, err := app.Run(ctx, "t", outerState{})
	for i, want := range []string{"a", "a b"} {
		if err != nil || out.Status != posthouse.StatusInterrupted {
			t.Fatal(i, out, err)
		}
		s, e := graph.Within[innerState](ctx, l, out.Checkpoint, "sub")
		if e != nil || strings.Join(s.Notes, " ") != want {
			t.Fatal(i, s, e)
		}
		out, err = app.Resume(ctx, "t")
	}
	if err != nil || out.Status != posthouse.StatusDone || strings.Join(out.State.Log, " ") != "a b c" {
		t.Fatalf("output %v, error %v", out, err)
	}
}

// A subgraph with a thread of its own waits there, and its caller for it; a
// fork of the caller has a thread of its own, too.
func TestSubgraphInAThreadOfItsOwn(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		ctx, l := t.Context(), newLedger(t)
		var ran atomic.Int32
		g := graph.New[outerState]("outer")
		graph.Subgraph(g, "research", research(&ran), &graph.SubOptions[outerState, innerState]{
			In:       func(s *outerState) innerState { return innerState{Topic: s.Topic} },
			Out:      func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
			Lifetime: life, OwnThread: true,
		})
		g.Edge(graph.Start, "research")
		g.Edge("research", graph.End)
		app := compile(t, g, l, nil)
		out, err := app.Run(ctx, "t", outerState{Topic: "tea"}, graph.RunOptions{Coordination: "all"})
		if err != nil || out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateThread {
			t.Fatalf("output %v, error %v", out, err)
		}
		child := out.Waiting[0].Text
		if info, err := l.Thread(ctx, child); err != nil || info.Coordination != "all" || !strings.HasPrefix(child, "t.research") {
			t.Fatalf("child %v, info %v, error %v", child, info, err)
		}
		if again, err := app.Resume(ctx, "t"); err != nil || again.Status != posthouse.StatusWaiting {
			t.Fatalf("again %v, error %v", again, err)
		}
		f, err := app.Fork(ctx, out.Checkpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		approve := func(thread string, v posthouse.Verdict) {
			t.Helper()
			n := 0
			for q, err := range l.Gates(ctx, ledger.GateQuery{Thread: thread}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := l.Decide(ctx, q.ID, posthouse.Decision{Verdict: v, By: "bob"}); err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 1 {
				t.Fatal(n, "gates of", thread)
			}
		}
		approve(child, posthouse.Approve)
		// A runner goes on with the child, which wakes its caller.
		programs := app.Programs()
		if len(programs) != 2 {
			t.Fatal(len(programs))
		}
		if err := programs[1].Advance(ctx, child, "main"); err != nil {
			t.Fatal(err)
		}
		if info, err := l.Thread(ctx, "t"); err != nil || !info.Runnable() {
			t.Fatalf("info %v, error %v", info, err)
		}
		done, err := app.Resume(ctx, "t")
		if err != nil || strings.Join(done.State.Log, ", ") != "plan tea, approve 101, write" || ran.Load() != 101 {
			t.Fatalf("done %v, error %v, ran.Load() %v", done, err, ran.Load())
		}
		other, err := app.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch})
		if err != nil || len(other.Waiting) != 1 || other.Waiting[0].Text == child {
			t.Fatalf("other %v, error %v", other, err)
		}
		approve(other.Waiting[0].Text, posthouse.Reject)
		other, err = app.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch})
		if err != nil || strings.Join(other.State.Log, ", ") != "plan tea, reject 101, write" || ran.Load() != 101 {
			t.Fatalf("other %v, error %v, ran.Load() %v", other, err, ran.Load())
		}
	}
}

// TestSubOptionsAreCopied changes options once a subgraph was added with them.
func TestSubOptionsAreCopied(t *testing.T) {
	type outer struct{ A, B string }
	type inside struct{ V string }
	sub := graph.New[inside]("sub")
	sub.Node("n", func(_ context.Context, s *inside) error { s.V += "!"; return nil })
	sub.Edge(graph.Start, "n")
	sub.Edge("n", graph.End)
	g := graph.New[outer]("g")
	var o graph.SubOptions[outer, inside]
	o.In, o.Out = func(*outer) inside { return inside{"a"} }, func(s *outer, r *inside) error { s.A = r.V; return nil }
	graph.Subgraph(g, "a", sub, &o)
	o.In, o.Out = func(*outer) inside { return inside{"b"} }, func(s *outer, r *inside) error { s.B = r.V; return nil }
	graph.Subgraph(g, "b", sub, &o)
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	res, err := compile(t, g, open(t, memstore.New(), nil), nil).Run(t.Context(), "t", outer{})
	if err != nil || res.State != (outer{"a!", "b!"}) {
		t.Errorf("result %+v, error %v", res, err)
	}
}
