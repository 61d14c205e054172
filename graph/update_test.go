package graph_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// forked has a route that depends on the state: in -> left or right.
func forked() *graph.Graph[trail] {
	g := graph.New[trail]("forked")
	for _, n := range []string{"in", "left", "right"} {
		g.Node(n, visit(n))
	}
	g.Edge(graph.Start, "in")
	g.Route("in", func(s *trail) string { return s.Go }, "left", "right")
	g.Edge("left", graph.End)
	g.Edge("right", graph.End)
	return g
}

// AsNode goes on after the node, Goto at it.
func TestAsNodeAndGoto(t *testing.T) {
	a := compile(t, forked(), newLedger(t), &graph.CompileOptions{InterruptAfter: []string{"in"}})
	must.Get(a.Run(t.Context(), "t", trail{Go: "left"}))(t)

	s := must.Get(a.Update(t.Context(), "t", func(s *trail) { s.Go = "right" }, graph.UpdateOptions{AsNode: "in", By: "alice"}))(t)
	wantList(t, "as in: where its route leads now", s.Next, "right")
	if s.Node != "in" || s.Kind != posthouse.KindUpdate || s.Status != posthouse.StatusInterrupted || s.By != "alice" {
		t.Fatalf("update %+v", s.Header)
	}
	wantList(t, "resumed", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "in", "right")

	s = must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "in"}))(t)
	wantList(t, "goto in", s.Next, "in")
	must.Get(a.Resume(t.Context(), "t"))(t) // runs in, stops after it
	s = must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "left"}))(t)
	wantList(t, "goto left", s.Next, "left")
	wantList(t, "resumed", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "in", "right", "in", "left")

	s = must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{AsNode: "left"}))(t)
	if len(s.Next) != 0 || s.Status != posthouse.StatusDone {
		t.Fatalf("as the last node: %+v", s.Header)
	}
	s = must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{AsNode: graph.Start}))(t)
	wantList(t, "as the start", s.Next, "in")
	s = must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: graph.End}))(t)
	if len(s.Next) != 0 || s.Status != posthouse.StatusDone {
		t.Fatalf("goto the end: %+v", s.Header)
	}
	for _, o := range []graph.UpdateOptions{
		{AsNode: "nobody"}, {Goto: "nobody"}, {AsNode: "in", Goto: "in"}, {AsNode: graph.End}, {Goto: graph.Start},
	} {
		_, err := a.Update(t.Context(), "t", nil, o)
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}

// An update keeps what is next, may do anything to any part, and sets zero
// values, which input cannot.
func TestUpdateOfTheHead(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), &graph.CompileOptions{InterruptAfter: []string{"a"}, Check: true})
	must.Get(a.Run(t.Context(), "t", trail{Go: "x", N: 1, Nodes: []string{"one", "two"}}))(t)
	s := must.Get(a.Update(t.Context(), "t", func(s *trail) { *s = trail{Nodes: []string{"three"}} }))(t)
	if s.State.Go != "" || s.State.N != 0 || s.Branch != "main" {
		t.Fatalf("update %+v", s)
	}
	wantList(t, "next", s.Next, "b")
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "three", "b")
	wantList(t, "history", kinds(history(t, a, "t")), "node b", "update a", "node a", "input")
}

// Updating a past checkpoint makes a child on a new branch; the old id still
// loads, byte for byte, and so does what came after it.
func TestUpdateOfThePast(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b", "c"), l, nil)
	must.Get(a.Run(t.Context(), "t", trail{N: 1}))(t)
	h := history(t, a, "t")
	before := map[posthouse.ID]*posthouse.Checkpoint{}
	for _, s := range h {
		before[s.ID] = must.Get(l.Get(t.Context(), s.ID))(t)
	}
	past := h[2] // after a
	s := must.Get(a.Update(t.Context(), "t", func(s *trail) { s.N = 2 }, graph.UpdateOptions{Checkpoint: past.ID}))(t)
	if s.Branch != "update-1" || s.Parent != past.ID || s.Source == nil || s.Source.ID != past.ID {
		t.Fatalf("update %+v", s.Header)
	}
	out := must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: s.Branch}))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b", "c")
	if out.State.N != 2 || out.Branch != "update-1" {
		t.Fatalf("result %+v", out)
	}
	for id, want := range before {
		if have := must.Get(l.Get(t.Context(), id))(t); !reflect.DeepEqual(have, want) {
			t.Errorf("checkpoint %s changed:\n%+v\n%+v", id, have, want)
		}
	}
	if head := must.Get(a.State(t.Context(), "t"))(t); head.State.N != 1 || head.ID != h[0].ID {
		t.Fatalf("main moved: %+v", head)
	}
	if next := must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Checkpoint: past.ID}))(t); next.Branch != "update-2" {
		t.Fatalf("branch %q", next.Branch)
	}
	named := graph.UpdateOptions{NewBranch: "mine"}
	if s := must.Get(a.Update(t.Context(), "t", nil, named))(t); s.Branch != "mine" || s.Parent != h[0].ID {
		t.Fatalf("update %+v", s.Header)
	}
	_, err := a.Update(t.Context(), "t", nil, named)
	must.Fail(t, err, posthouse.ErrExists)
	if n := len(history(t, a, "t", graph.HistoryOptions{Branch: "update-1"})); n != 3 {
		t.Fatalf("%d checkpoints on the branch, want 3", n)
	}
}

// An update of a past checkpoint does not take a node for begun that began after it: a
// deferred node runs once, after all others.
func TestUpdateOfThePastBesideADeferredNode(t *testing.T) {
	l := newLedger(t)
	ran := 0
	g := graph.New[trail]("late")
	for _, n := range []string{"in", "mid"} {
		g.Node(n, visit(n))
	}
	g.Node("left", visit("left"), graph.NodeOptions{Defer: true})
	g.Node("late", func(ctx context.Context, s *trail) error {
		_, err := step.Do(ctx, "pay", func(context.Context) (int, error) { ran++; return ran, nil })
		s.Nodes = append(s.Nodes, "late")
		return err
	}, graph.NodeOptions{Defer: true})
	for _, e := range [][2]string{{graph.Start, "in"}, {"in", "left"}, {"in", "late"}, {"left", "mid"}, {"mid", "late"}, {"late", graph.End}} {
		g.Edge(e[0], e[1])
	}
	a := compile(t, g, l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	wantList(t, "nodes", out.State.Nodes, "in", "left", "late", "mid", "late")
	h := history(t, a, "t")
	past := h[len(h)-2] // after in
	wantList(t, "next", past.Next, "left", "late")
	ran = 0
	o := graph.UpdateOptions{Checkpoint: past.ID, AsNode: "left"}
	s := must.Get(a.Update(t.Context(), "t", nil, o))(t)
	wantList(t, "next", s.Next, "mid")
	out = must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: s.Branch}))(t)
	wantList(t, "nodes", out.State.Nodes, "in", "mid", "late")
	if ran != 1 {
		t.Errorf("it paid %d times on the branch, want 1", ran)
	}
}

func TestUpdateErrors(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a"), l, nil)
	_, err := a.Update(t.Context(), "nobody", nil)
	must.Fail(t, err, posthouse.ErrNotFound)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	out := must.Get(a.Run(t.Context(), "other", trail{}))(t)
	_, err = a.Update(t.Context(), "t", nil, graph.UpdateOptions{Checkpoint: out.Checkpoint})
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = a.Update(t.Context(), "t", nil, graph.UpdateOptions{Checkpoint: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
}

// An update that stays where the thread is keeps the records of its nodes; one
// that leads elsewhere starts over.
func TestUpdateKeepsRecordedSteps(t *testing.T) {
	for _, branch := range []string{"", "mine"} {
		calls := 0
		l := newLedger(t)
		a := compile(t, approval(&calls), l, nil)
		out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
		s := must.Get(a.Update(t.Context(), "t", func(s *trail) { s.Nodes = nil }, graph.UpdateOptions{NewBranch: branch}))(t)
		again := must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: s.Branch}))(t)
		if again.Status != posthouse.StatusWaiting || len(again.Waiting) != 1 || again.Waiting[0].ID == out.Waiting[0].ID {
			t.Fatalf("branch %q: it asks anew: %+v", branch, again)
		}
		decide(t, l, again.Waiting[0].ID, posthouse.Approve)
		s = must.Get(a.Update(t.Context(), "t", func(s *trail) { s.Nodes = []string{"twice"} }, graph.UpdateOptions{Branch: s.Branch}))(t)
		f := must.Get(a.Fork(t.Context(), s.ID, nil, graph.ForkOptions{Thread: "copy" + branch}))(t)
		for _, h := range []*graph.Snapshot[trail]{s, f} {
			out = must.Get(a.Resume(t.Context(), h.Thread, graph.RunOptions{Branch: h.Branch}))(t)
			wantList(t, "an answer stays", out.State.Nodes, "twice", "approve", "pay")
			if calls != 1 || out.State.N != 1 {
				t.Fatalf("branch %q: the step ran %d times: %+v", branch, calls, out)
			}
		}
		s = must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Branch: s.Branch, Goto: "approve"}))(t)
		must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: s.Branch}))(t)
		if calls != 2 {
			t.Fatalf("branch %q: behind Goto the step ran %d times in all", branch, calls)
		}
	}
}

// A node that failed is put right: it does not pay again.
func TestUpdateAfterAFailure(t *testing.T) {
	for _, o := range []graph.RunOptions{{}, {Durability: graph.Exit}} {
		broken, paid := true, 0
		a := compile(t, paying(&broken, &paid), newLedger(t), nil)
		if _, err := a.Run(t.Context(), "t", trail{}, o); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		for range 2 {
			must.Get(a.Update(t.Context(), "t", func(s *trail) { s.N++ }))(t)
		}
		broken = false
		out := must.Get(a.Resume(t.Context(), "t", o))(t)
		wantList(t, "nodes", out.State.Nodes, "prepare", "pay", "thank")
		if paid != 1 || out.State.N != 2 {
			t.Fatalf("paid %d times: %+v", paid, out)
		}
	}
}

// A fork goes on where its source would have; the walk from its head to the
// root crosses the fork.
func TestFork(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b"), l, nil)
	must.Get(a.Run(t.Context(), "t", trail{N: 1}))(t)
	src := history(t, a, "t")[1] // after a
	s := must.Get(a.Fork(t.Context(), src.ID, func(s *trail) { s.N = 2 }, graph.ForkOptions{By: "bob"}))(t)
	if s.Branch != "fork-1" || s.Source.ID != src.ID || s.State.N != 2 || s.By != "bob" || s.Kind != posthouse.KindFork {
		t.Fatalf("fork %+v", s)
	}
	out := must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: "fork-1"}))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b")
	var walk []string
	for id := out.Checkpoint; id != ""; {
		c := must.Get(a.State(t.Context(), "t", graph.StateOptions{Checkpoint: id}))(t)
		walk = append(walk, c.Kind+" "+c.Branch)
		id = c.Parent
	}
	wantList(t, "walk", walk, "node fork-1", "fork fork-1", "node main", "input main")

	other := must.Get(a.Fork(t.Context(), src.ID, nil, graph.ForkOptions{Thread: "copy"}))(t)
	if other.Thread != "copy" || other.Source.Thread != "t" || other.State.N != 1 {
		t.Fatalf("fork %+v", other)
	}
	wantList(t, "in the copy", must.Get(a.Resume(t.Context(), "copy"))(t).State.Nodes, "a", "b")
	_, err := a.Fork(t.Context(), "nobody", func(*trail) {})
	must.Fail(t, err, posthouse.ErrNotFound)
}

// A replay computes again what was recorded after its checkpoint.
func TestReplay(t *testing.T) {
	broken, paid := false, 0
	a := compile(t, paying(&broken, &paid), newLedger(t), nil)
	first := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	past := history(t, a, "t", graph.HistoryOptions{Node: "prepare"})[0]
	out := must.Get(a.Replay(t.Context(), past.ID))(t)
	wantList(t, "nodes", out.State.Nodes, "prepare", "pay", "thank")
	if paid != 2 || out.Branch != "fork-1" || out.Checkpoint == first.Checkpoint {
		t.Fatalf("paid %d times, result %+v", paid, out)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.ID != first.Checkpoint {
		t.Fatal("main moved")
	}
	out = must.Get(a.Replay(t.Context(), past.ID, graph.RunOptions{Branch: "again"}))(t)
	if out.Branch != "again" || paid != 3 {
		t.Fatalf("paid %d times, result %+v", paid, out)
	}
	done := must.Get(a.Replay(t.Context(), first.Checkpoint))(t)
	if done.Status != posthouse.StatusDone || paid != 3 {
		t.Fatalf("replay of the end: %+v", done)
	}
	_, err := a.Replay(t.Context(), "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// A replay from before a decision asks again, under a new id.
func TestReplayAsksAgain(t *testing.T) {
	calls := 0
	l := newLedger(t)
	a := compile(t, approval(&calls), l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	must.Get(a.Resume(t.Context(), "t"))(t)
	again := must.Get(a.Replay(t.Context(), out.Checkpoint))(t)
	if again.Status != posthouse.StatusWaiting || len(again.Waiting) != 1 || again.Waiting[0].ID == out.Waiting[0].ID {
		t.Fatalf("result %+v", again)
	}
	decide(t, l, again.Waiting[0].ID, posthouse.Reject)
	done := must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: again.Branch}))(t)
	wantList(t, "nodes", done.State.Nodes, "analyze", "approve", "refuse")
	if calls != 1 {
		t.Fatalf("a step recorded before the fork ran %d times", calls)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.State.Go != string(posthouse.Approve) {
		t.Fatal("main changed")
	}
}

func TestStateOptions(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	s := must.Get(a.State(t.Context(), "t", graph.StateOptions{Node: "a"}))(t)
	wantList(t, "newest of a", s.State.Nodes, "a", "b", "a")
	if byID := must.Get(a.State(t.Context(), "t", graph.StateOptions{Checkpoint: s.ID}))(t); !reflect.DeepEqual(byID, s) {
		t.Fatalf("%+v and %+v", byID, s)
	}
	_, err := a.State(t.Context(), "t", graph.StateOptions{Branch: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = a.State(t.Context(), "t", graph.StateOptions{Node: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
}

func TestHistoryPages(t *testing.T) {
	a := compile(t, line("a", "b", "c", "d"), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	all := kinds(history(t, a, "t"))
	var paged []string
	o := graph.HistoryOptions{Limit: 2}
	for {
		page := history(t, a, "t", o)
		if len(page) == 0 {
			break
		}
		paged = append(paged, kinds(page)...)
		o.After = page[len(page)-1].Cursor()
	}
	wantList(t, "pages", paged, all...)
	if n := len(history(t, a, "t", graph.HistoryOptions{Kind: posthouse.KindInput})); n != 1 {
		t.Fatalf("%d inputs", n)
	}
	for range a.History(t.Context(), "t") {
		break // a reader may leave
	}
	if len(history(t, a, "nobody")) != 0 {
		t.Fatal("an unknown thread has a history")
	}
}

// A state that no longer fits its type is refused by name, not zeroed.
func TestStateOfAnotherType(t *testing.T) {
	l := newLedger(t)
	must.Get(compile(t, line("a"), l, nil).Run(t.Context(), "t", trail{Go: "x"}))(t)
	type later struct{ Go int }
	g := graph.New[later]("line")
	g.Node("a", func(context.Context, *later) error { return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, l, nil)
	_, err := a.State(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Resume(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrInvalid)
	for _, err := range a.History(t.Context(), "t") {
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}

// A checkpoint of another graph is neither forked nor replayed, and a replay that
// is refused leaves no branch.
func TestForkOfAnotherGraph(t *testing.T) {
	l := newLedger(t)
	own := compile(t, line("a"), l, nil)
	out := must.Get(own.Run(t.Context(), "t", trail{}))(t)
	g := graph.New[trail]("other")
	g.Node("z", visit("z"))
	g.Edge(graph.Start, "z")
	g.Edge("z", graph.End)
	other := compile(t, g, l, nil)
	_, err := other.Fork(t.Context(), out.Checkpoint, nil)
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = other.Fork(t.Context(), out.Checkpoint, func(s *trail) { s.N = 1 }, graph.ForkOptions{Thread: "u"})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = other.Replay(t.Context(), out.Checkpoint)
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = own.Replay(t.Context(), out.Checkpoint, graph.RunOptions{RecursionLimit: -1})
	must.Fail(t, err, posthouse.ErrInvalid)
	if b := must.Get(own.Branches(t.Context(), "t"))(t); len(b) != 1 {
		t.Fatalf("branches %+v", b)
	}
}
