package origins

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// Writes of a step are applied by the place of their tasks, not as they come.
func TestWritesAreAppliedInTheirOrder(t *testing.T) {
	const n = 5
	turn := make([]chan struct{}, n+1)
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	close(turn[n])
	g := graph.New[work]("work")
	graph.Task(g, "write", func(_ context.Context, i int, s *work) error {
		<-turn[i+1] // the last completes first
		defer close(turn[i])
		s.Scratch = append(s.Scratch, fmt.Sprint(i))
		return nil
	})
	g.Map(graph.Start, func(*work) (sends []graph.Send) {
		for i := range n {
			sends = append(sends, graph.Send{Node: "write", Input: i})
		}
		return sends
	}, "write")
	g.Edge("write", graph.End)
	out := must(compile(t, g, newLedger(t)).Run(t.Context(), "t", work{Scratch: []string{"base"}}))(t)
	wantList(t, "writes", out.State.Scratch, "base", "0", "1", "2", "3", "4")
}

// AnyValue: two nodes of a step may write the same.
func TestTwoWritersOfTheSameValue(t *testing.T) {
	g := graph.New[work]("work")
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(_ context.Context, s *work) error { s.Own = "agreed"; return nil })
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	if out := must(compile(t, g, newLedger(t)).Run(t.Context(), "t", work{}))(t); out.State.Own != "agreed" {
		t.Fatalf("output %+v", out)
	}
}

// A replay finds what a subgraph that lives per thread kept at that point, not
// what later calls made of it; those calls stay where they are.
func TestReplayFindsWhatASubgraphKeptThen(t *testing.T) {
	sub := graph.New[work]("sub")
	sub.Node("count", func(_ context.Context, s *work) error { s.Best++; return nil })
	chain(sub, "count")
	g := graph.New[work]("work")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[work, work]{
		Out:      func(s, in *work) error { s.Scratch = append(s.Scratch, fmt.Sprint(in.Best)); return nil },
		Lifetime: graph.PerThread,
	})
	g.Edge(graph.Start, "sub")
	g.Route("sub", func(s *work) string {
		if len(s.Scratch) < 3 {
			return "sub"
		}
		return graph.End
	}, "sub", graph.End)
	app := compile(t, g, newLedger(t))
	must(app.Run(t.Context(), "t", work{}))(t)
	var calls []*graph.Snapshot[work]
	for s, err := range app.History(t.Context(), "t", graph.HistoryOptions{Kind: posthouse.KindNode, Oldest: true}) {
		calls = append(calls, must(s, err)(t))
	}
	for i, at := range calls {
		out := must(app.Replay(t.Context(), at.ID))(t)
		wantList(t, fmt.Sprint("behind call ", i+1), out.State.Scratch, "1", "2", "3")
	}
	again := must(app.Run(t.Context(), "t", work{}))(t)
	wantList(t, "main", again.State.Scratch, "1", "2", "3", "4")
}

// get_state tells the tasks of a step: what each has on record, the results of
// those that completed, the questions of those that wait.
func TestTasksOfAStepAreTold(t *testing.T) {
	l := newLedger(t)
	g := graph.New[work]("work")
	g.Node("pays", func(ctx context.Context, s *work) (err error) {
		s.Own, err = step.Do(ctx, "pay", func(context.Context) (string, error) { return "paid", nil })
		return err
	})
	g.Node("asks", func(ctx context.Context, s *work) error {
		_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ok"})
		return err
	})
	for _, n := range []string{"pays", "asks"} {
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	app := compile(t, g, l)
	must(app.Run(t.Context(), "t", work{}))(t)
	s := head(t, app)
	wantList(t, "next", s.Next, "pays", "asks")
	var told []string
	for task, x := range must(l.Core().Executions(t.Context(), &s.Header))(t) {
		for _, r := range x.Steps {
			told = append(told, task+" "+r.Name)
		}
		for _, q := range x.Gates {
			told = append(told, task+" asks "+q.Name)
		}
	}
	slices.Sort(told)
	wantList(t, "tasks", told, "1/asks asks ok", "1/pays $done", "1/pays pay")
}

// An answer names its question: one of several that are open goes to that one
// only, also where the same node asks them.
func TestAnAnswerIsOfOneQuestion(t *testing.T) {
	l := newLedger(t)
	g := graph.New[work]("work")
	g.Node("ask", func(ctx context.Context, s *work) error {
		list, err := step.Map(ctx, "all", []string{"a", "b", "c"}, func(ctx context.Context, name string) (string, error) {
			a, err := gate.Ask[string](ctx, gate.Question{Name: name})
			return name + "=" + a.Value, err
		})
		s.Scratch = list
		return err
	})
	chain(g, "ask")
	app := compile(t, g, l)
	out := must(app.Run(t.Context(), "t", work{}))(t)
	for _, name := range []string{"c", "a", "b"} {
		i := slices.IndexFunc(out.Waiting, func(g posthouse.Gate) bool { return strings.HasSuffix(g.Name, ">"+name) })
		if i < 0 {
			t.Fatalf("%s is not open: %+v", name, out.Waiting)
		}
		open := len(out.Waiting)
		must(l.Decide(t.Context(), out.Waiting[i].ID, posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: []byte(`"` + name + `!"`)}))(t)
		out = must(app.Resume(t.Context(), "t"))(t)
		if len(out.Waiting) != open-1 {
			t.Fatalf("%d questions are open behind the answer to %s, there were %d", len(out.Waiting), name, open)
		}
	}
	wantList(t, "answers", out.State.Scratch, "a=a!", "b=b!", "c=c!")
}

// entrypoint.final(value=..., save=...): what the next execution finds may be
// more than what the caller looks at.
func TestFinalSavesMoreThanItReturns(t *testing.T) {
	type final struct{ Value, Save int }
	f := flow.New("entry", func(ctx context.Context, n int) (final, error) {
		before, _, err := flow.Previous[final](ctx)
		return final{Value: before.Save, Save: n}, err
	})
	restarts(t, func(l *ledger.Ledger) {
		if res := must(must(f.Open(l, nil))(t).Run(t.Context(), "t", 5))(t); res.Output.Value != 0 {
			t.Fatalf("result %+v", res)
		}
	}, func(l *ledger.Ledger) {
		if res := must(must(f.Open(l, nil))(t).Run(t.Context(), "t", 7))(t); res.Output.Value != 5 {
			t.Fatalf("result %+v", res)
		}
	})
}
