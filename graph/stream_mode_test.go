package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// single is a graph of one node.
func single(run func(context.Context, *trail) error, o ...graph.NodeOptions) *graph.Graph[trail] {
	g := graph.New[trail]("single")
	g.Node("n", run, o...)
	g.Edge(graph.Start, "n")
	g.Edge("n", graph.End)
	return g
}

func modes(m ...runs.StreamMode) graph.RunOptions { return graph.RunOptions{Modes: m} }

// texts lists events as "kind node".
func texts[S any](events []graph.Event[S]) (list []string) {
	for _, e := range events {
		list = append(list, strings.TrimSuffix(string(e.Kind)+" "+e.Node, " "))
	}
	return list
}

// TestEachModeYieldsEvents runs a node that has something to report in every mode.
func TestEachModeYieldsEvents(t *testing.T) {
	l := newLedger(t)
	a := compile(t, single(func(ctx context.Context, s *trail) error {
		step.Token(ctx, "word")
		step.Emit(ctx, 1)
		return nil
	}), l, nil)
	for i, mode := range runs.StreamModes() {
		events, _ := collect(t, a.Stream(t.Context(), fmt.Sprint("mode-", i), trail{}, modes(mode)))
		if !slices.ContainsFunc(events, func(e graph.Event[trail]) bool { return e.Mode == mode }) {
			t.Errorf("mode %s yields no event, only %v", mode, texts(events))
		}
	}
}

func TestStreamUpdates(t *testing.T) {
	l := newLedger(t)
	broken := true
	a := fanned(t, l, func(_ context.Context, s *fan) error {
		s.Log, s.Sum, s.First = append(s.Log, "a1", "a2"), 2, "x"
		return nil
	}, func(_ context.Context, s *fan) error {
		if broken {
			return errBoom
		}
		s.Log, s.Sum = append(s.Log, "b"), 3
		return nil
	}, nil)
	var events []graph.Event[fan]
	for e, err := range a.Stream(t.Context(), "t", fan{Log: []string{"in"}}, modes(runs.StreamUpdates)) {
		if err == nil {
			events = append(events, e)
		}
	}
	wantList(t, "a step that fails", texts(events))
	broken = false
	events, _ = collect(t, a.ResumeStream(t.Context(), "t", modes(runs.StreamUpdates)))
	wantList(t, "events", texts(events), "update a", "update b", "update join", "end join")
	var have []string
	for _, e := range events[:3] {
		have = append(have, e.Task+" "+string(e.Updates["Log"].Data)+" "+string(e.Updates["Sum"].Data))
		if e.Mode != runs.StreamUpdates || e.Checkpoint.ID == "" {
			t.Errorf("event %+v", e)
		}
	}
	wantList(t, "updates", have, `1/a ["a1","a2"] 2`, `1/b ["b"] 3`, `2/join ["join"] `)
	wantList(t, "log", events[3].State.Log, "in", "a1", "a2", "b", "join")
	if len(events[2].Updates) != 1 {
		t.Errorf("join changed %v", events[2].Updates)
	}
}

// Each task's text comes in order and complete, however much it is and whoever
// else writes.
func TestStreamMessages(t *testing.T) {
	const n = 500
	talk := func(name string) func(context.Context, *fan) error {
		return func(ctx context.Context, s *fan) error {
			w := step.Writer(ctx)
			for i := range n {
				fmt.Fprintf(w, "%s%d ", name, i)
			}
			_, err := step.Do(ctx, "llm", func(ctx context.Context) (int, error) {
				step.Token(ctx, "from the step")
				step.Emit(ctx, "not asked for")
				return 1, nil
			})
			return err
		}
	}
	a := fanned(t, newLedger(t), talk("a"), talk("b"), nil)
	seen := map[string]int{}
	events, _ := collect(t, a.Stream(t.Context(), "t", fan{}, modes(runs.StreamMessages)))
	for _, e := range events[:len(events)-1] {
		want, in := fmt.Sprintf("%s%d ", e.Node, seen[e.Node]), ""
		if seen[e.Node] == n {
			want, in = "from the step", "llm"
		}
		seen[e.Node]++
		if e.Kind != runs.EventMessage || e.Text != want || e.Step != in || e.Seq != uint64(seen[e.Node]) || e.Task != "1/"+e.Node || e.Attempt != 1 {
			t.Fatalf("event %+v, want %q", e, want)
		}
	}
	if seen["a"] != n+1 || seen["b"] != n+1 || events[len(events)-1].Kind != runs.EventEnd {
		t.Fatalf("seen %v", seen)
	}
}

func TestStreamCustomAndReplay(t *testing.T) {
	l := newLedger(t)
	a := compile(t, single(func(ctx context.Context, s *trail) error {
		step.Emit(ctx, 1)
		if _, err := step.Do(ctx, "paid", func(ctx context.Context) (int, error) { step.Emit(ctx, "paying"); return 1, nil }); err != nil {
			return err
		}
		step.Token(ctx, "x")
		_, err := ask(ctx, "sure")
		return err
	}), l, nil)
	values := func(events []graph.Event[trail]) (list []string) {
		for _, e := range events[:len(events)-1] {
			list = append(list, fmt.Sprintf("%s %v%s %d", e.Kind, e.Value, e.Text, e.Seq))
		}
		return list
	}
	both := modes(runs.StreamCustom, runs.StreamMessages)
	events, _ := collect(t, a.Stream(t.Context(), "t", trail{}, both))
	wantList(t, "first", values(events), "custom 1 1", "custom paying 2", "message <nil>x 3")
	park := events[3]
	if park.Kind != runs.EventPark || len(park.Result.Waiting) != 1 || park.Mode != "" {
		t.Fatalf("the interruption %+v", park)
	}
	decide(t, l, park.Result.Waiting[0].ID, posthouse.Approve)
	events, _ = collect(t, a.ResumeStream(t.Context(), "t", both))
	wantList(t, "the recorded step is silent", values(events), "custom 1 1", "message <nil>x 2")
}

func TestStreamCheckpoints(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), nil)
	events, _ := collect(t, a.Stream(t.Context(), "t", trail{}, modes(runs.StreamCheckpoints)))
	var have, want []string
	for _, e := range events[:len(events)-1] {
		if e.Kind != runs.EventCheckpoint || e.At.IsZero() || e.Took < 0 {
			t.Errorf("event %+v", e)
		}
		have = append(have, string(e.Checkpoint.ID))
		s := must.Get(a.State(t.Context(), "t", graph.StateOptions{Checkpoint: e.Checkpoint.ID}))(t)
		if len(s.State.Nodes) != int(e.Checkpoint.Step) {
			t.Errorf("state on demand %+v", s)
		}
	}
	for _, s := range history(t, a, "t") {
		want = append(want, string(s.ID))
	}
	slices.Reverse(want)
	wantList(t, "checkpoints", have, want...)
}

func TestStreamTasks(t *testing.T) {
	calls := 0
	flaky := func(_ context.Context, s *trail) error {
		if calls++; calls < 3 {
			return errBoom
		}
		return nil
	}
	a := compile(t, single(flaky, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}}), newLedger(t), nil)
	events, _ := collect(t, a.Stream(t.Context(), "t", trail{}, modes(runs.StreamTasks)))
	wantList(t, "retries", texts(events),
		"task.start n", "task.retry n", "task.start n", "task.retry n", "task.start n", "task.finish n", "end n")
	for i, attempt := range []int{1, 1, 2, 2, 3, 3} {
		e := events[i]
		if e.Attempt != attempt || e.Task != "1/n" || e.Mode != runs.StreamTasks || e.At.IsZero() || (e.Err != nil) != (e.Kind == runs.EventTaskRetry) {
			t.Errorf("event %d: %+v", i, e)
		}
	}

	g := single(func(context.Context, *trail) error { return errBoom })
	g.OnError("n", func(ctx context.Context, _ *trail, _ error) (graph.Command, error) {
		_, err := ask(ctx, "now what")
		return graph.Command{}, err
	})
	a = compile(t, g, newLedger(t), nil)
	events, _ = collect(t, a.Stream(t.Context(), "t", trail{}, modes(runs.StreamTasks)))
	wantList(t, "handler", texts(events), "task.start n", "task.error n", "task.start n", "task.wait n", "park n")
	must.Fail(t, events[1].Err, errBoom)

	a = compile(t, single(func(context.Context, *trail) error { return errBoom }), newLedger(t), nil)
	events = nil
	for e, err := range a.Stream(t.Context(), "t", trail{}, modes(runs.StreamTasks, runs.StreamDebug)) {
		events = append(events, e)
		if err != nil {
			must.Fail(t, err, errBoom)
		}
	}
	wantList(t, "failure", texts(events), "checkpoint", "task.start n", "task.error n", "checkpoint n", "")
}

func TestStreamDebugIsTasksAndCheckpoints(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), nil)
	events, _ := collect(t, a.Stream(t.Context(), "t", trail{}, modes(runs.StreamDebug)))
	wantList(t, "events", texts(events), "checkpoint", "task.start a", "task.finish a", "checkpoint a",
		"task.start b", "task.finish b", "checkpoint b", "end b")
	for _, e := range events[:7] {
		if e.Mode != runs.StreamDebug || e.At.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
}

func TestStreamOfUnknownMode(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	for _, err := range a.Stream(t.Context(), "t", trail{}, modes("everything")) {
		must.Fail(t, err, posthouse.ErrInvalid)
	}
	if _, err := a.State(t.Context(), "t"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Fatal("something ran", err)
	}
}

// A reader that leaves in the middle of a step ends running nodes; completed
// nodes are on record, and no goroutine is left.
func TestStreamIsLeftInTheMiddle(t *testing.T) {
	l := newLedger(t)
	ran := map[string]int{}
	var mu sync.Mutex
	ended := make(chan struct{})
	a := fanned(t, l, func(_ context.Context, s *fan) error {
		mu.Lock()
		defer mu.Unlock()
		ran["a"]++
		s.Own = "a"
		return nil
	}, func(ctx context.Context, s *fan) error {
		mu.Lock()
		ran["b"]++
		again := ran["b"] > 1
		mu.Unlock()
		for !again {
			if step.Token(ctx, "and on "); ctx.Err() != nil {
				close(ended)
				return context.Cause(ctx)
			}
		}
		return nil
	}, nil)
	finished, more := false, 0
	for e, err := range a.Stream(t.Context(), "t", fan{}, modes(runs.StreamMessages, runs.StreamTasks)) {
		if err != nil {
			t.Fatal(err)
		}
		finished = finished || e.Kind == runs.EventTaskFinish
		if finished && e.Kind == runs.EventMessage {
			if more++; more > 200 {
				break
			}
		}
	}
	<-ended
	if info := must.Get(l.Thread(t.Context(), "t"))(t); info.Lease.Held {
		t.Error("the lease is held")
	}
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	if out.State.Own != "a" || ran["a"] != 1 || ran["b"] != 2 {
		t.Errorf("result %+v, ran %v", out.State, ran)
	}
}

// The consumer's context ends a node that waits for its reader.
func TestStreamIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := compile(t, single(func(ctx context.Context, s *trail) error {
		for ctx.Err() == nil {
			step.Token(ctx, "x")
		}
		return context.Cause(ctx)
	}), newLedger(t), nil)
	var last error
	for e, err := range a.Stream(ctx, "t", trail{}, modes(runs.StreamMessages)) {
		last = err
		if e.Kind == runs.EventMessage {
			cancel()
		}
	}
	must.Fail(t, last, context.Canceled)
}

// Events emitted after the end of the node are dropped.
func TestEmissionsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		var late sync.WaitGroup
		leave := func(ctx context.Context) {
			step.Token(ctx, "in time")
			late.Go(func() {
				<-over
				for range 200 {
					step.Token(ctx, "late")
					step.Emit(ctx, "late")
				}
			})
		}
		g := graph.New[trail]("late")
		g.Node("returns", func(ctx context.Context, _ *trail) error { leave(ctx); return nil })
		g.Node("hangs", func(ctx context.Context, _ *trail) error {
			leave(ctx)
			<-over
			step.Token(ctx, "late")
			return nil
		}, graph.NodeOptions{Timeout: time.Second})
		g.OnError("hangs", func(ctx context.Context, _ *trail, err error) (graph.Command, error) {
			close(over)
			late.Wait()
			return graph.Command{}, nil
		})
		g.Edge(graph.Start, "returns")
		g.Edge("returns", "hangs")
		g.Edge("hangs", graph.End)
		a := compile(t, g, newLedger(t), nil)
		events, _ := collect(t, a.Stream(t.Context(), "t", trail{}, modes(runs.StreamMessages, runs.StreamCustom)))
		wantList(t, "events", texts(events), "message returns", "message hangs", "end hangs")
		step.Token(t.Context(), "outside") // does nothing
	})
}

// A token is a sign of life, also without a reader.
func TestTokensAreHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := compile(t, single(func(ctx context.Context, s *trail) error {
			for range 5 {
				time.Sleep(8 * time.Second)
				step.Token(ctx, "x")
			}
			return ctx.Err()
		}, graph.NodeOptions{IdleTimeout: 10 * time.Second}), newLedger(t), nil)
		must.Get(a.Run(t.Context(), "t", trail{}))(t)
	})
}

// The changes of all updates, over the input, are the final state.
func TestUpdatesAddUpToTheState(t *testing.T) {
	g := graph.New[trail]("sum")
	g.Node("a", func(_ context.Context, s *trail) error { s.N, s.Nodes = 1, append(s.Nodes, "a"); return nil })
	g.Node("b", func(_ context.Context, s *trail) error { s.Go, s.Nodes = "b", append(s.Nodes, "b", "b2"); return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	a := compile(t, g, newLedger(t), nil)
	var sum trail
	for e, err := range a.Stream(t.Context(), "t", trail{}, modes(runs.StreamUpdates)) {
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range e.Updates {
			var more []string
			to := map[string]any{"N": &sum.N, "Go": &sum.Go, "Nodes": &more}[name]
			if err := json.Unmarshal(v.Data, to); err != nil {
				t.Fatal(err)
			}
			sum.Nodes = append(sum.Nodes, more...)
		}
		if e.Result != nil && fmt.Sprint(sum) != fmt.Sprint(e.State) {
			t.Errorf("have %+v, want %+v", sum, e.State)
		}
	}
}

// Events of a subgraph carry its path if that is asked for; else the emissions of
// its nodes count as the outer node's.
func TestStreamOfASubgraph(t *testing.T) {
	type in struct{ Word string }
	sub := graph.New[in]("sub")
	sub.Node("plan", func(ctx context.Context, s *in) error { step.Token(ctx, "hm"); s.Word = "planned"; return nil })
	sub.Node("write", func(_ context.Context, s *in) error { s.Word += " written"; return nil })
	sub.Edge(graph.Start, "plan")
	sub.Edge("plan", "write")
	sub.Edge("write", graph.End)
	g := graph.New[trail]("outer")
	graph.Subgraph(g, "research", sub, &graph.SubOptions[trail, in]{Out: func(s *trail, r *in) error { s.Go = r.Word; return nil }})
	g.Edge(graph.Start, "research")
	g.Edge("research", graph.End)
	a := compile(t, g, newLedger(t), nil)

	o := modes(runs.StreamMessages, runs.StreamValues, runs.StreamUpdates)
	events, _ := collect(t, a.Stream(t.Context(), "t", trail{}, o))
	wantList(t, "outside", texts(events), "input", "message research", "update research", "node research", "end research")

	o.Subgraphs = true
	events, _ = collect(t, a.Stream(t.Context(), "t", trail{}, o))
	var have []string
	for _, e := range events {
		line := strings.Join([]string{string(e.Kind), e.Path, e.Node, e.Task, e.Text}, " ")
		if e.Path != "" && e.Kind == runs.EventNode {
			line += e.Inner.(in).Word
		}
		have = append(have, line)
	}
	wantList(t, "inside", have, "input    ", "input research   ", "message research plan 3/research>2/plan hm", "update research plan 3/research>2/plan ",
		"node research plan  planned", "update research write 3/research>3/write ", "node research write  planned written",
		"update  research 3/research ", "node  research  ", "end  research  ")

	n := 0
	for e, err := range a.Stream(t.Context(), "left", trail{}, o) { // inside
		if n++; err != nil {
			t.Fatal(err)
		}
		if e.Path != "" && e.Kind == runs.EventNode {
			break
		}
	}
	out := must.Get(a.Resume(t.Context(), "left"))(t)
	if out.State.Go != "planned written" || n != 5 {
		t.Fatalf("after %d events: %+v", n, out)
	}
	for _, s := range history(t, a, "left") {
		if s.Status == posthouse.StatusFailed {
			t.Error("leaving was taken for a failure")
		}
	}
}
