package origins

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/runs"
)

// An unhandled error ends its siblings where the graph asks for it; what had
// completed does not run again, what was ended does.
func TestFailFastEndsSiblings(t *testing.T) {
	ran := map[string]int{}
	started, completed := make(chan struct{}), make(chan struct{})
	g := graph.New[work]("work")
	for name, first := range map[string]node{
		"done":  func(context.Context, *work) error { return nil },
		"fails": func(context.Context, *work) error { <-started; <-completed; return errBoom },
		"hangs": func(ctx context.Context, _ *work) error { close(started); <-ctx.Done(); return ctx.Err() },
	} {
		tries := 0
		g.Node(name, func(ctx context.Context, s *work) error {
			if tries++; tries == 1 {
				if err := first(ctx, s); err != nil {
					return err
				}
			}
			s.Artifacts = map[string]string{name: "ran"}
			return nil
		})
		g.Edge(graph.Start, name)
		g.Edge(name, graph.End)
	}
	app := compile(t, g, newLedger(t), graph.CompileOptions{FailFast: true})
	tasks := graph.RunOptions{Modes: []runs.StreamMode{runs.StreamTasks}}
	var last error
	for e, err := range app.Stream(t.Context(), "t", work{}, tasks) {
		last = err
		switch e.Kind {
		case runs.EventTaskStart:
			ran[e.Node]++
		case runs.EventTaskFinish:
			close(completed)
		}
	}
	wantCode(t, last, errBoom)
	for e, err := range app.ResumeStream(t.Context(), "t", tasks) {
		must(e, err)(t)
		if e.Kind == runs.EventTaskStart {
			ran[e.Node]++
		}
	}
	if s := head(t, app); fmt.Sprint(ran) != "map[done:1 fails:2 hangs:2]" || len(s.State.Artifacts) != 3 {
		t.Fatal(ran, s)
	}
}

// A handler takes the place of its node in the step: its siblings do not notice,
// what the node had written is gone, and the join waits for the handler.
func TestHandlerBesideSiblings(t *testing.T) {
	g := graph.New[work]("work")
	g.Node("a", func(_ context.Context, s *work) error {
		s.Scratch, s.Tokens = append(s.Scratch, "half done"), 1000
		return errBoom
	})
	g.OnError("a", func(_ context.Context, s *work, _ error) (graph.Command, error) {
		s.Scratch, s.Tokens = append(s.Scratch, "handled"), s.Tokens+1
		return graph.Command{}, nil
	})
	g.Node("b", func(_ context.Context, s *work) error {
		s.Scratch, s.Tokens = append(s.Scratch, "b"), s.Tokens+10
		return nil
	})
	g.Node("join", visit("join"))
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Join("join", "a", "b")
	g.Edge("join", graph.End)
	out := must(compile(t, g, newLedger(t)).Run(t.Context(), "t", work{Tokens: 100}))(t)
	wantList(t, "nodes", out.State.Scratch, "handled", "b", "join")
	if out.State.Tokens != 111 {
		t.Fatal(out.State.Tokens)
	}
}

// A fan-out over nothing ends the run, and a place named twice is gone to once.
func TestNothingToSendAndOnePlaceTwice(t *testing.T) {
	g := graph.New[work]("work")
	g.Command("plan", func(_ context.Context, s *work) (graph.Command, error) {
		if s.Own == "twice" {
			return graph.Goto("b", "b"), nil
		}
		return graph.Command{}, nil
	})
	graph.Task(g, "fetch", func(_ context.Context, in string, s *work) error { s.Scratch = append(s.Scratch, in); return nil })
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "plan")
	g.Map("plan", func(s *work) (sends []graph.Send) {
		for i := range s.Tokens {
			sends = append(sends, graph.Send{Node: "fetch", Input: fmt.Sprint(i)})
		}
		return sends
	}, "fetch")
	g.Edge("fetch", "b")
	g.Edge("b", graph.End)
	app := compile(t, g, newLedger(t))
	for thread, c := range map[string]struct {
		in   work
		want []string
	}{
		"none":  {work{}, nil},
		"two":   {work{Tokens: 2}, []string{"0", "1", "b"}},
		"twice": {work{Own: "twice"}, []string{"b"}},
	} {
		out := must(app.Run(t.Context(), thread, c.in))(t)
		if wantList(t, thread, out.State.Scratch, c.want...); out.Status != posthouse.StatusDone {
			t.Fatalf("%s: output %+v", thread, out)
		}
	}
}
