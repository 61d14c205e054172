package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

func noop(context.Context, *fan) error { return nil }

// Each step makes one checkpoint; updates of one step are merged by the rules,
// the base counting once, and go on where each of their nodes leads.
func TestBulkUpdate(t *testing.T) {
	a := fanned(t, newLedger(t), noop, noop, &graph.CompileOptions{InterruptBefore: []string{"a"}})
	must.Get(a.Run(t.Context(), "t", fan{Sum: 100, Log: []string{"base"}}))(t)
	add := func(who string, n int) func(*fan) {
		return func(s *fan) { s.Sum += n; s.Log = append(s.Log, who); s.Custom = n }
	}
	s := must.Get(a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[fan]{
		{{Node: "a", Change: add("a", 1)}, {Node: "b", Change: add("b", 2)}},
		{{Node: "join", Change: add("j", 3)}},
	}, graph.UpdateOptions{By: "alice"}))(t)
	if s.State.Sum != 106 || s.State.Custom != 3 || s.Status != posthouse.StatusDone || s.By != "alice" {
		t.Fatalf("state %+v", s)
	}
	wantList(t, "log", s.State.Log, "base", "a", "b", "j")
	h := history(t, a, "t")
	wantList(t, "history", kinds(h), "update join", "update a+b", "input")
	wantList(t, "between", h[1].Next, "join")
	if h[1].State.Custom != 12 || h[1].State.Sum != 103 {
		t.Fatalf("state %+v", h[1].State)
	}

	past := must.Get(a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[fan]{{{Node: "a", Change: add("x", 1)}}},
		graph.UpdateOptions{Checkpoint: h[2].ID, NewBranch: "side"}))(t)
	if past.Branch != "side" || past.Source == nil || past.Source.ID != h[2].ID {
		t.Fatalf("update %+v", past.Header)
	}
	wantList(t, "beside it", past.Next, "b")
	out := must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: "side"}))(t)
	wantList(t, "log", out.State.Log, "base", "x", "join")
	_, err := a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[fan]{{{Node: graph.Start}}}, graph.UpdateOptions{NewBranch: "side"})
	must.Fail(t, err, posthouse.ErrExists)
}

// A step that cannot be made leaves the thread as it was, whichever it is.
func TestBulkUpdateErrors(t *testing.T) {
	l := newLedger(t)
	a := fanned(t, l, noop, noop, &graph.CompileOptions{InterruptBefore: []string{"a"}})
	must.Get(a.Run(t.Context(), "t", fan{Log: []string{"x"}}))(t)
	tail := must.Get(l.Thread(t.Context(), "t"))(t).Tail
	type steps = [][]graph.NodeUpdate[fan]
	own := func(v string) func(*fan) { return func(s *fan) { s.Own = v } }
	for name, c := range map[string]struct {
		steps steps
		opt   graph.UpdateOptions
		want  error
	}{
		"no steps":       {nil, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"an empty step":  {steps{{}}, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"no node":        {steps{{{Change: own("x")}}}, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"unknown node":   {steps{{{Node: "nobody"}}}, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"start in two":   {steps{{{Node: "a"}, {Node: graph.Start}}}, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"as node":        {steps{{{Node: "a"}}}, graph.UpdateOptions{AsNode: "a"}, posthouse.ErrInvalid},
		"two values":     {steps{{{Node: "a"}}, {{Node: "a", Change: own("x")}, {Node: "b", Change: own("y")}}}, graph.UpdateOptions{}, posthouse.ErrConflict},
		"taken away":     {steps{{{Node: "a", Change: func(s *fan) { s.Log = nil }}, {Node: "b"}}}, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"no such task":   {steps{{{Node: "a", Task: 7}}}, graph.UpdateOptions{}, posthouse.ErrInvalid},
		"no such branch": {steps{{{Node: "a"}}}, graph.UpdateOptions{Branch: "nobody"}, posthouse.ErrNotFound},
	} {
		_, err := a.BulkUpdate(t.Context(), "t", c.steps, c.opt)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := must.Get(l.Thread(t.Context(), "t"))(t).Tail; now != tail {
		t.Fatal("the thread was touched")
	}
	if s := must.Get(a.BulkUpdate(t.Context(), "t", steps{{{Node: graph.Start}}}))(t); fmt.Sprint(s.Next) != "[a b]" {
		t.Fatalf("as the start: %v", s.Next)
	}
	c := must.Get(l.Claim(t.Context(), "t", "else"))(t)
	defer c.Release(t.Context())
	_, err := a.BulkUpdate(t.Context(), "t", steps{{{Node: "a"}}})
	must.Fail(t, err, posthouse.ErrBusy)
}

// failing fans out to a, which completes, and b, which fails while broken.
func failing(t *testing.T, l *ledger.Ledger, broken *bool, calls map[string]int) *graph.App[fan] {
	return fanned(t, l, func(_ context.Context, s *fan) error {
		calls["a"]++
		s.Sum++
		s.Log = append(s.Log, "a")
		return nil
	}, func(_ context.Context, s *fan) error {
		if *broken {
			return errors.New("boom")
		}
		calls["b"]++
		s.Sum += 10
		return nil
	}, &graph.CompileOptions{Check: true, Concurrency: 1})
}

// An update in the middle of a step keeps what completed in it.
func TestUpdateKeepsCompletedTasks(t *testing.T) {
	for name, c := range map[string]struct {
		opt  graph.UpdateOptions
		want string
	}{
		"plain":         {graph.UpdateOptions{}, "calls map[a:1 b:1], sum 1111"},
		"as the failed": {graph.UpdateOptions{AsNode: "b"}, "calls map[a:1], sum 1101"},
		"as the done":   {graph.UpdateOptions{AsNode: "a"}, "calls map[a:1 b:1], sum 1110"},
		"goto":          {graph.UpdateOptions{Goto: "join"}, "calls map[a:1], sum 1100"},
	} {
		t.Run(name, func(t *testing.T) {
			broken, calls := true, map[string]int{}
			a := failing(t, newLedger(t), &broken, calls)
			if _, err := a.Run(t.Context(), "t", fan{Sum: 100}); err == nil {
				t.Fatal("did not fail")
			}
			must.Get(a.Update(t.Context(), "t", func(s *fan) { s.Sum += 1000 }, c.opt))(t)
			broken = false
			out := must.Get(a.Resume(t.Context(), "t"))(t)
			if have := fmt.Sprintf("calls %v, sum %d", calls, out.State.Sum); have != c.want || out.Status != posthouse.StatusDone {
				t.Fatalf("%s, want %s", have, c.want)
			}
		})
	}
}

// Of what was sent to one task, one can be taken for completed.
func TestUpdateAsOneTask(t *testing.T) {
	a := compile(t, sending(), newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"work"}})
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	must.Get(a.Update(t.Context(), "t", func(s *trail) { s.Nodes = append(s.Nodes, "by hand") }, graph.UpdateOptions{AsNode: "work", Task: 2}))(t)
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "by hand", "one", "three")
	_, err := a.Update(t.Context(), "t", nil, graph.UpdateOptions{AsNode: "work", Task: 1})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Update(t.Context(), "t", nil, graph.UpdateOptions{Task: 1})
	must.Fail(t, err, posthouse.ErrInvalid)
}

func sending() *graph.Graph[trail] {
	g := graph.New[trail]("sending")
	g.Map(graph.Start, func(*trail) (s []graph.Send) {
		for _, in := range []string{"one", "two", "three"} {
			s = append(s, graph.Send{Node: "work", Input: in})
		}
		return s
	}, "work")
	graph.Task(g, "work", func(_ context.Context, in string, s *trail) error { s.Nodes = append(s.Nodes, in); return nil })
	g.Edge("work", graph.End)
	return g
}

// A fork, to a branch and to a thread, goes on with the sends, joins and
// deferred nodes of its source, and with what completed beside them.
func TestForkKeepsThePlan(t *testing.T) {
	l := newLedger(t)
	a := compile(t, sending(), l, &graph.CompileOptions{InterruptBefore: []string{"work"}})
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	for _, o := range []graph.ForkOptions{{}, {Thread: "sends"}} {
		f := must.Get(a.Fork(t.Context(), out.Checkpoint, nil, o))(t)
		r := must.Get(a.Resume(t.Context(), f.Thread, graph.RunOptions{Branch: f.Branch}))(t)
		wantList(t, "nodes", r.State.Nodes, "one", "two", "three")
	}
	l = newLedger(t)
	broken, calls := true, map[string]int{}
	shop := compile(t, oldShop(&broken, calls), l, nil)
	if _, err := shop.Run(t.Context(), "t", oldOrder{}); err == nil {
		t.Fatal("did not fail")
	}
	head := must.Get(shop.State(t.Context(), "t"))(t)
	broken = false
	for _, o := range []graph.ForkOptions{{Branch: "b"}, {Thread: "away"}} {
		f := must.Get(shop.Fork(t.Context(), head.ID, func(s *oldOrder) { s.Sum = "2" }, o))(t)
		r := must.Get(shop.Resume(t.Context(), f.Thread, graph.RunOptions{Branch: f.Branch}))(t)
		wantList(t, "nodes", r.State.Nodes, "price", "stock", "ship", "audit")
	}
	if calls["stock"] != 1 || calls["llm"] != 1 {
		t.Fatalf("recorded work was done again: %v", calls)
	}
}

// A node that ran beside others is found by its name.
func TestStateOfANodeAmongOthers(t *testing.T) {
	broken := false
	a := failing(t, newLedger(t), &broken, map[string]int{})
	must.Get(a.Run(t.Context(), "t", fan{}))(t)
	for _, n := range []string{"a", "b", "a+b"} {
		if s := must.Get(a.State(t.Context(), "t", graph.StateOptions{Node: n}))(t); s.Node != "a+b" {
			t.Errorf("%s: s.Node %q", n, s.Node)
		}
		if h := history(t, a, "t", graph.HistoryOptions{Node: n}); len(h) != 1 {
			t.Errorf("%s: %d checkpoints", n, len(h))
		}
	}
	_, err := a.State(t.Context(), "t", graph.StateOptions{Node: "a+"})
	must.Fail(t, err, posthouse.ErrNotFound)
}

// Updates as tasks that were sent inputs are told apart where they disagree.
func TestBulkUpdateTellsSendsApart(t *testing.T) {
	g := graph.New[trail]("g")
	g.Map(graph.Start, func(*trail) []graph.Send { return []graph.Send{{Node: "t", Input: 1}, {Node: "t", Input: 2}} }, "t")
	graph.Task(g, "t", func(context.Context, int, *trail) error { return nil }, graph.NodeOptions{InterruptBefore: true})
	g.Edge("t", graph.End)
	a := compile(t, g, newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	n := func(n int) func(*trail) { return func(s *trail) { s.N = n } }
	_, err := a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[trail]{{{Node: "t", Task: 1, Change: n(1)}, {Node: "t", Task: 2, Change: n(2)}}})
	var m *graph.MergeError
	if !errors.As(err, &m) {
		t.Fatal(err)
	}
	wantList(t, "tasks", m.Nodes, "t#1", "t#2")
}

func TestUpdatesAreLabelled(t *testing.T) {
	a := compile(t, line("a", "b", "c"), newLedger(t), &graph.CompileOptions{InterruptAfter: []string{"a"}})
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	fix := graph.UpdateOptions{Labels: map[string]string{"why": "fix"}}
	must.Get(a.Update(t.Context(), "t", nil, fix))(t)
	must.Get(a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[trail]{{{Node: "b"}}, {{Node: "c"}}}, fix))(t)
	wantList(t, "labelled", kinds(history(t, a, "t", graph.HistoryOptions{Label: "why", Value: "fix"})), "update c", "update b", "update a")
	own := graph.UpdateOptions{Labels: map[string]string{"parent": "x"}}
	_, err := a.Update(t.Context(), "t", nil, own)
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[trail]{{{Node: "b"}}}, own)
	must.Fail(t, err, posthouse.ErrInvalid)
}

// The error names the branch that is not there.
func TestUnknownBranchesAreNamed(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	_, state := a.State(t.Context(), "t", graph.StateOptions{Branch: "side"})
	_, node := a.State(t.Context(), "t", graph.StateOptions{Branch: "side", Node: "a"})
	_, update := a.Update(t.Context(), "t", nil, graph.UpdateOptions{Branch: "side"})
	_, bulk := a.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[trail]{{{Node: "a"}}}, graph.UpdateOptions{Branch: "side"})
	for _, err := range []error{state, node, update, bulk} {
		if !errors.Is(err, posthouse.ErrNotFound) || !strings.Contains(err.Error(), "branch side") {
			t.Error(err)
		}
	}
}

// Tasks that did not complete go on after an update with what they have on record,
// whether others completed or not: they neither act nor ask again.
func TestUpdateOfAStepInWhichOthersCompleted(t *testing.T) {
	for _, completes := range []bool{true, false} {
		l, paid := newLedger(t), 0
		a := fanned(t, l, func(ctx context.Context, s *fan) error {
			s.Sum++
			if completes {
				return nil
			}
			_, err := ask(ctx, "a")
			return err
		}, func(ctx context.Context, s *fan) error {
			if _, err := do(ctx, "pay", func() (int, error) { paid++; return paid, nil }); err != nil {
				return err
			}
			if _, err := ask(ctx, "b"); err != nil {
				return err
			}
			s.Sum += 10
			_, err := ask(ctx, "more")
			return err
		}, nil)
		answer := func(out *graph.Result[fan], name string) {
			t.Helper()
			for _, g := range out.Waiting {
				if g.Name == name {
					decide(t, l, g.ID, posthouse.Approve)
					return
				}
			}
			t.Fatalf("%s is not open: %+v", name, out.Waiting)
		}
		out := must.Get(a.Run(t.Context(), "t", fan{Sum: 100}))(t)
		answer(out, "b")
		must.Get(a.Resume(t.Context(), "t"))(t)
		s := must.Get(a.Update(t.Context(), "t", func(s *fan) { s.Sum += 1000 }))(t)
		want := 1100
		if completes {
			want = 1101
		}
		out = must.Get(a.Resume(t.Context(), "t"))(t)
		if s.State.Sum != want || paid != 1 {
			t.Fatalf("completes %v: sum %d, want %d; paid %d times", completes, s.State.Sum, want, paid)
		}
		answer(out, "more")
		out = must.Get(a.Resume(t.Context(), "t"))(t)
		if !completes {
			answer(out, "a")
			out = must.Get(a.Resume(t.Context(), "t"))(t)
		}
		if out.Status != posthouse.StatusDone || out.State.Sum != 1111 || paid != 1 {
			t.Fatalf("completes %v: paid %d times, %+v", completes, paid, out)
		}
	}
}

// A task that another one leads to begins with the execution that it is in the middle of,
// and one that is made by hand again does not find what its earlier execution recorded.
func TestUpdatesKeepExecutionsApart(t *testing.T) {
	l, paid := newLedger(t), map[string]int{}
	g := graph.New[fan]("loops")
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(ctx context.Context, s *fan) error {
			if _, err := do(ctx, "pay", func() (int, error) { paid[n]++; return 0, nil }); err != nil {
				return err
			}
			_, err := ask(ctx, n)
			return err
		})
		g.Edge(graph.Start, n)
	}
	g.Edge("a", "a")
	g.Edge("b", graph.End)
	a := compile(t, g, l, nil)
	must.Get(a.Run(t.Context(), "t", fan{}))(t)
	for n := 1; n <= 3; n++ {
		s := must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{AsNode: "a"}))(t)
		wantList(t, "next", s.Next, "a", "b")
		out := must.Get(a.Resume(t.Context(), "t"))(t)
		if len(out.Waiting) != 2 || paid["a"] != n+1 || paid["b"] != 1 {
			t.Fatalf("after update %d: paid %v, waits for %+v", n, paid, out.Waiting)
		}
	}
	if _, err := a.Update(t.Context(), "t", nil, graph.UpdateOptions{AsNode: "b", NewBranch: "other"}); err != nil {
		t.Fatal(err)
	}
	must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: "other"}))(t)
	if paid["a"] != 4 || paid["b"] != 1 {
		t.Fatalf("on another branch: paid %v", paid)
	}
}

// An update is refused if its completed tasks do not merge and one of them has acted.
func TestUpdateDoesNotRepeatEffects(t *testing.T) {
	paid := 0
	g := graph.New[trail]("clash")
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(ctx context.Context, s *trail) error {
			s.Go = n
			_, err := step.DoWith(ctx, "pay", step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (int, error) { paid++; return 0, nil })
			return err
		})
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	g.Node("c", func(ctx context.Context, s *trail) error { _, err := ask(ctx, "c"); return err })
	g.Edge(graph.Start, "c")
	g.Edge("c", graph.End)
	a := compile(t, g, newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	_, err := a.Update(t.Context(), "t", func(s *trail) { s.N = 1 })
	must.Fail(t, err, posthouse.ErrConflict)
	must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "c"}))(t)
	if out := must.Get(a.Resume(t.Context(), "t"))(t); len(out.Waiting) != 1 || paid != 2 {
		t.Fatalf("paid %d times: %+v", paid, out)
	}
}
