package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// fetches is a remote node that adds what a worker fetched to the trail, and counts how often
// its input was asked for.
func fetches(inputs *int) graph.Remote[trail, string, string] {
	return graph.Remote[trail, string, string]{
		Task: "fetch",
		In:   func(s *trail) (string, error) { *inputs++; s.Go = "discarded"; return strings.Join(s.Nodes, " "), nil },
		Out:  func(s *trail, page string) error { s.Nodes = append(s.Nodes, page); return nil },
	}
}

// remoteLine is a node, a remote one named fetch, and another node.
func remoteLine(r graph.Remote[trail, string, string]) *graph.Graph[trail] {
	g := graph.New[trail]("fetched")
	g.Node("plan", visit("plan"))
	g.Remote("fetch", r)
	g.Node("store", visit("store"))
	g.Edge(graph.Start, "plan")
	g.Edge("plan", "fetch")
	g.Edge("fetch", "store")
	g.Edge("store", graph.End)
	return g
}

// openTasks returns the open tasks of a thread's main branch, or of all threads for "".
func openTasks(tb testing.TB, l *ledger.Ledger, thread string) (list []*posthouse.Gate) {
	tb.Helper()
	for g, err := range l.Gates(tb.Context(), ledger.GateQuery{Thread: thread, Kind: posthouse.GateTask}) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// theTask returns the one open task of a thread.
func theTask(tb testing.TB, l *ledger.Ledger, thread string) *posthouse.Gate {
	tb.Helper()
	list := openTasks(tb, l, thread)
	if len(list) != 1 {
		tb.Fatalf("thread %q has %d open tasks: %+v", thread, len(list), list)
	}
	return list[0]
}

// resolveTask decides a task as a worker's verdict does, and returns what takes its place.
func resolveTask(tb testing.TB, l *ledger.Ledger, gate posthouse.ID, o commit.TaskOutcome) *posthouse.Gate {
	tb.Helper()
	o.By = "worker:w1"
	_, next, err := commit.ResolveTask(tb.Context(), l.Core(), commit.GateRef{Gate: gate}, &o)
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

func completed(output string) commit.TaskOutcome {
	return commit.TaskOutcome{Output: json.RawMessage(output)}
}

// TestRemoteNode: a worker handles it, and its second attempt goes on with what the first kept.
func TestRemoteNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, inputs := newLedger(t), 0
		r := fetches(&inputs)
		r.Group, r.Limits.MaxAttempts = "web", 2
		r.Trace = func(context.Context) map[string]string { return map[string]string{"traceparent": "00-1-2-01"} }
		a := compile(t, remoteLine(r), l, nil)
		d := must.Get(dispatch.New(l, nil))(t)
		w := must.Get(worker.New(d, &worker.Options{Name: "w1", Group: "web"}))(t)
		worker.Handle(w, "fetch", func(t worker.Task, in string) (string, error) {
			kept, found, err := worker.Load[string](t)
			if err == nil && !found {
				err = errors.Join(worker.Save(t, "kept"), errors.New("no route"))
			}
			return fmt.Sprint(in, " ", kept, " ", t.Attempt(), " ", t.StepID(), " ", t.Trace()["traceparent"]), err
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 2)
		for _, run := range []func(context.Context) error{d.Run, w.Run} {
			go func() { ended <- run(ctx) }()
		}
		res := must.Get(a.Run(ctx, "t", trail{}))(t)
		for n := 0; res.Status == posthouse.StatusWaiting; n++ {
			if n > 1000 {
				t.Fatal("it waits for ever")
			}
			<-time.After(100 * time.Millisecond)
			res = must.Get(a.Resume(ctx, "t"))(t)
		}
		wantList(t, "trail", res.State.Nodes, "plan", "plan kept 2 2/fetch/remote 00-1-2-01", "store")
		if inputs != 1 || res.State.Go != "" {
			t.Errorf("In was called %d times, and left %q", inputs, res.State.Go)
		}
		stop()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
	})
}

// TestParkedRemoteNodesHoldNothing: no goroutine belongs to a thread that waits for a worker.
func TestParkedRemoteNodesHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, inputs := newLedger(t), 0
		a := compile(t, remoteLine(fetches(&inputs)), l, nil)
		before := runtime.NumGoroutine()
		for i := range 100 {
			if res := must.Get(a.Run(t.Context(), fmt.Sprint("t", i), trail{}))(t); res.Status != posthouse.StatusWaiting || len(res.Waiting) != 1 {
				t.Fatalf("result %+v", res)
			}
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		if n := len(openTasks(t, l, "")); n != 100 {
			t.Errorf("%d open tasks", n)
		}
		for g := range l.Gates(t.Context(), ledger.GateQuery{}) {
			t.Errorf("people are asked %+v", g)
		}
	})
}

// TestRemoteNodeFails: like any node, and for good. Retries of the graph dispatch nothing.
func TestRemoteNodeFails(t *testing.T) {
	l, inputs, ctx := newLedger(t), 0, t.Context()
	retry := &graph.CompileOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 6, InitialDelay: -1}, RetryOn: func(error) bool { return true }, Timeout: time.Nanosecond}
	a := compile(t, remoteLine(fetches(&inputs)), l, retry)
	must.Get(a.Run(ctx, "t", trail{}))(t)
	g := theTask(t, l, "t")
	for next := g; g.Call.Attempt < 3; g = next {
		next = resolveTask(t, l, g.ID, commit.TaskOutcome{Next: commit.NextAttempt(g.Call, l.Now(), "no route", 0), Why: "no route"})
	}
	resolveTask(t, l, g.ID, commit.TaskOutcome{Failed: "no route"})
	for range 2 { // the failure is on record
		res, err := a.Resume(ctx, "t")
		var node *graph.NodeError
		var failed *runs.RemoteError
		if !errors.As(err, &node) || node.Node != "fetch" || !errors.As(err, &failed) {
			t.Fatalf("result %+v, error %v", res, err)
		}
		if failed.Task != "fetch" || failed.Gate != g.ID || failed.Worker != "worker:w1" || failed.Attempts != 3 || failed.Reason != "no route" {
			t.Errorf("failed %+v", failed)
		}
		if n := len(openTasks(t, l, "t")); n != 0 {
			t.Errorf("%d tasks are open", n)
		}
	}
	if inputs != 1 {
		t.Errorf("In was called %d times", inputs)
	}

	g = must.Get(ledger.RetryTask(ctx, l, g.ID, nil))(t) // in place: the node goes on with it
	if res := must.Get(a.Resume(ctx, "t"))(t); res.Status != posthouse.StatusWaiting || theTask(t, l, "t").ID != g.ID || inputs != 1 {
		t.Errorf("%+v, In was called %d times", res, inputs)
	}
	resolveTask(t, l, g.ID, commit.TaskOutcome{Failed: "no route"})
	if _, err := a.Resume(ctx, "t"); err == nil {
		t.Error("it failed again, and the node does not")
	}
	must.Get(a.Update(ctx, "t", nil, graph.UpdateOptions{Goto: "fetch"}))(t) // that dispatches again
	must.Get(a.Resume(ctx, "t"))(t)
	again := theTask(t, l, "t")
	if again.Call.ID == g.Call.ID || again.Call.Attempt != 1 {
		t.Errorf("again.Call %+v", again.Call)
	}
	resolveTask(t, l, again.ID, completed(`"page"`))
	wantList(t, "trail", must.Get(a.Resume(ctx, "t"))(t).State.Nodes, "plan", "page", "store")
}

// TestRemoteNodeIsHandled by OnError, when a worker gave it up and when no worker came in
// time.
func TestRemoteNodeIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, inputs := newLedger(t), 0
		r := fetches(&inputs)
		r.Expires = time.Hour
		g := remoteLine(r)
		g.OnError("fetch", func(_ context.Context, s *trail, err error) (graph.Command, error) {
			s.Nodes = append(s.Nodes, err.Error()[strings.LastIndex(err.Error(), "task fetch"):])
			return graph.Command{}, nil
		})
		a := compile(t, g, l, nil)
		for thread, want := range map[string]string{"given up": "task fetch failed in attempt 1 at worker:w1: no route", "late": "task fetch before 2000-01-01T01:00:00Z"} {
			must.Get(a.Run(t.Context(), thread, trail{}))(t)
			task := theTask(t, l, thread)
			if thread == "late" {
				<-time.After(time.Hour)
			} else {
				resolveTask(t, l, task.ID, commit.TaskOutcome{Failed: "no route"})
			}
			res := must.Get(a.Resume(t.Context(), thread))(t)
			if n := res.State.Nodes; res.Status != posthouse.StatusDone || len(n) != 3 || !strings.Contains(n[1], want) || n[2] != "store" {
				t.Errorf("%s: %s %q", thread, res.Status, n)
			}
		}
	})
}

// TestRemoteNodesAtOnce: each is dispatched once, whatever becomes of the others.
func TestRemoteNodesAtOnce(t *testing.T) {
	l, inputs, ctx := newLedger(t), [2]int{}, t.Context()
	g := graph.New[trail]("both")
	g.Node("here", visit("here"))
	for i, name := range []string{"left", "right"} {
		r := fetches(&inputs[i])
		r.Task = name
		g.Remote(name, r)
		g.Edge(graph.Start, name)
		g.Edge(name, "join")
	}
	g.Edge(graph.Start, "here")
	g.Edge("here", "join")
	g.Node("join", visit("join"))
	g.Edge("join", graph.End)
	a := compile(t, g, l, nil)
	res := must.Get(a.Run(ctx, "t", trail{}))(t)
	if res.Status != posthouse.StatusWaiting || len(res.Waiting) != 2 {
		t.Fatalf("result %+v", res)
	}
	for _, name := range []string{"right", "left"} {
		list := openTasks(t, l, "t")
		i := slices.IndexFunc(list, func(g *posthouse.Gate) bool { return g.Call.Task == name })
		resolveTask(t, l, list[i].ID, completed(`"`+name+`"`))
		res = must.Get(a.Resume(ctx, "t"))(t)
	}
	wantList(t, "trail", res.State.Nodes, "left", "right", "here", "join")
	if inputs != [2]int{1, 1} {
		t.Errorf("In was called %v times", inputs)
	}
}

// TestForkedRemoteNode: the task of the one does not serve the other.
func TestForkedRemoteNode(t *testing.T) {
	l, inputs, ctx := newLedger(t), 0, t.Context()
	a := compile(t, remoteLine(fetches(&inputs)), l, nil)
	res := must.Get(a.Run(ctx, "t", trail{}))(t)
	source := theTask(t, l, "t")
	f := must.Get(a.Fork(ctx, res.Checkpoint, nil))(t)
	must.Get(a.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch}))(t)
	resolveTask(t, l, source.ID, completed(`"page"`))
	copied := theTask(t, l, "t")
	if copied.Branch != f.Branch || copied.ID == source.ID || copied.Call.Task != "fetch" || string(copied.Payload) != `"plan"` {
		t.Fatalf("copied %+v, copied.Payload %s", copied, copied.Payload)
	}
	wantList(t, "source", must.Get(a.Resume(ctx, "t"))(t).State.Nodes, "plan", "page", "store")
	resolveTask(t, l, copied.ID, completed(`"other"`))
	wantList(t, "fork", must.Get(a.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch}))(t).State.Nodes, "plan", "other", "store")

	// A fork of another state asks for its input again.
	f = must.Get(a.Fork(ctx, res.Checkpoint, func(s *trail) { s.Nodes = append(s.Nodes, "more") }))(t)
	must.Get(a.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch}))(t)
	if g := theTask(t, l, "t"); g.Branch != f.Branch || string(g.Payload) != `"plan more"` || inputs != 2 {
		t.Errorf("%+v %s, In was called %d times", g, g.Payload, inputs)
	}
	must.Get(a.Update(ctx, "t", func(s *trail) { s.Nodes = append(s.Nodes, "most") }, graph.UpdateOptions{Branch: f.Branch}))(t)
	must.Get(a.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch}))(t)
	if g := theTask(t, l, "t"); string(g.Payload) != `"plan more most"` || inputs != 3 {
		t.Errorf("%+v %s, In was called %d times", g, g.Payload, inputs)
	}
}

// TestForkOfAFailedRemoteNode hands its task out again, with the input of the fork's state, on each branch once; also
// in subgraphs. On its own branch the failure stands.
func TestForkOfAFailedRemoteNode(t *testing.T) {
	l, inputs, ctx := newLedger(t), 0, t.Context()
	for name, add := range map[string]func(g *graph.Graph[trail]){
		"node":   func(g *graph.Graph[trail]) { g.Remote("sub", fetches(&inputs)) },
		"inline": func(g *graph.Graph[trail]) { g.Inline("sub", remoteLine(fetches(&inputs))) },
		"inside": func(g *graph.Graph[trail]) { remoteSubgraph(g, &inputs, false) },
		"thread": func(g *graph.Graph[trail]) { remoteSubgraph(g, &inputs, true) },
	} {
		g := graph.New[trail](name)
		add(g)
		g.Edge(graph.Start, "sub")
		g.Edge("sub", graph.End)
		a := compile(t, g, l, nil)
		must.Get(a.Run(ctx, name, trail{}))(t)
		source := theTask(t, l, "")
		resolveTask(t, l, source.ID, commit.TaskOutcome{Failed: "no route"})
		if _, err := a.Resume(ctx, name); err == nil {
			t.Fatalf("%s does not fail", name)
		}
		head := must.Get(l.Latest(ctx, ledger.LatestQuery{Thread: name}))(t)
		if head.Status != posthouse.StatusFailed {
			t.Fatalf("%s is %s", name, head.Status)
		}
		for _, more := range []string{"", "more"} {
			var change func(*trail)
			if more != "" {
				if name == "inside" || name == "thread" {
					break // it takes nothing of the outer state
				}
				change = func(s *trail) { s.Nodes = append(s.Nodes, more) }
			}
			f := must.Get(a.Fork(ctx, head.ID, change))(t)
			for range 2 {
				must.Get(a.Resume(ctx, name, graph.RunOptions{Branch: f.Branch}))(t)
			}
			again := theTask(t, l, "")
			if again.ID == source.ID || again.Call.Attempt != 1 {
				t.Errorf("%s: handed out is %+v", name, again)
			}
			var was, in string
			must.Do(t, errors.Join(json.Unmarshal(source.Payload, &was), json.Unmarshal(again.Payload, &in)))
			if in != strings.TrimSpace(was+" "+more) {
				t.Errorf("%s: its input is %q, that of the source %q", name, in, was)
			}
			resolveTask(t, l, again.ID, completed(`"page"`))
			res := must.Get(a.Resume(ctx, name, graph.RunOptions{Branch: f.Branch}))(t)
			if res.Status != posthouse.StatusDone {
				t.Errorf("%s: the fork is %s", name, res.Status)
			}
		}
		if _, err := a.Resume(ctx, name); err == nil || len(openTasks(t, l, "")) > 0 {
			t.Errorf("%s: the source: %v", name, err)
		}
	}
}

// TestForkOfAFailedHandlerOfARemoteNode: once OnError was called for a task, it is called again in a fork, and not the task.
func TestForkOfAFailedHandlerOfARemoteNode(t *testing.T) {
	l, inputs, ctx := newLedger(t), 0, t.Context()
	g := remoteLine(fetches(&inputs))
	handled := 0
	g.OnError("fetch", func(context.Context, *trail, error) (graph.Command, error) {
		if handled++; handled == 1 {
			return graph.Command{}, errors.New("no page in the archive either")
		}
		return graph.Command{}, nil
	})
	a := compile(t, g, l, nil)
	must.Get(a.Run(ctx, "t", trail{}))(t)
	resolveTask(t, l, theTask(t, l, "t").ID, commit.TaskOutcome{Failed: "no route"})
	if _, err := a.Resume(ctx, "t"); err == nil {
		t.Fatal("it does not fail")
	}
	head := must.Get(l.Latest(ctx, ledger.LatestQuery{Thread: "t"}))(t)
	f := must.Get(a.Fork(ctx, head.ID, nil))(t)
	res := must.Get(a.Resume(ctx, "t", graph.RunOptions{Branch: f.Branch}))(t)
	wantList(t, "the fork's trail", res.State.Nodes, "plan", "store")
	if handled != 2 || inputs != 1 {
		t.Errorf("the handler ran %d times, and In %d", handled, inputs)
	}
}

// TestRemoteNodeOutlivesItsEngine and the names of the node and its handler.
func TestRemoteNodeOutlivesItsEngine(t *testing.T) {
	store, inputs, ctx := memstore.New(), 0, t.Context()
	l := open(t, store, nil)
	must.Get(compile(t, remoteLine(fetches(&inputs)), l, nil).Run(ctx, "t", trail{}))(t)
	task := theTask(t, l, "t")

	l = open(t, store, nil)
	r := fetches(&inputs)
	r.Task = "crawl"
	g := graph.New[trail]("fetched")
	g.Remote("crawl", r)
	g.Edge(graph.Start, "crawl")
	g.Edge("crawl", graph.End)
	a := compile(t, g, l, &graph.CompileOptions{Migrations: []graph.Migration{{Nodes: map[string]string{"fetch": "crawl"}}}})
	if res := must.Get(a.Resume(ctx, "t"))(t); res.Status != posthouse.StatusWaiting || theTask(t, l, "t").ID != task.ID {
		t.Fatalf("result %+v", res)
	}
	resolveTask(t, l, task.ID, completed(`"page"`))
	wantList(t, "trail", must.Get(a.Resume(ctx, "t"))(t).State.Nodes, "plan", "page")
	if inputs != 1 || len(openTasks(t, l, "t")) != 0 {
		t.Errorf("In was called %d times", inputs)
	}
}

func TestRemoteNodeInSubgraphs(t *testing.T) {
	l, inputs, ctx := newLedger(t), 0, t.Context()
	for name, add := range map[string]func(g *graph.Graph[trail]){
		"inline": func(g *graph.Graph[trail]) { g.Inline("sub", remoteLine(fetches(&inputs))) },
		"inside": func(g *graph.Graph[trail]) { remoteSubgraph(g, &inputs, false) },
		"thread": func(g *graph.Graph[trail]) { remoteSubgraph(g, &inputs, true) },
	} {
		g := graph.New[trail](name)
		add(g)
		g.Edge(graph.Start, "sub")
		g.Edge("sub", graph.End)
		a := compile(t, g, l, nil)
		must.Get(a.Run(ctx, name, trail{}))(t)
		resolveTask(t, l, theTask(t, l, "").ID, completed(`"page"`))
		res := must.Get(a.Resume(ctx, name))(t)
		wantList(t, name, res.State.Nodes, "plan", "page", "store")
	}
}

func remoteSubgraph(g *graph.Graph[trail], inputs *int, own bool) {
	graph.Subgraph(g, "sub", remoteLine(fetches(inputs)), &graph.SubOptions[trail, trail]{
		OwnThread: own, Out: func(s, r *trail) error { s.Nodes = r.Nodes; return nil },
	})
}

// TestMisfitOfARemoteNode: what cannot be sent or taken over fails the node.
func TestMisfitOfARemoteNode(t *testing.T) {
	l, inputs, ctx := newLedger(t), 0, t.Context()
	a := compile(t, remoteLine(fetches(&inputs)), l, nil)
	must.Get(a.Run(ctx, "t", trail{}))(t)
	resolveTask(t, l, theTask(t, l, "t").ID, completed(`{"page":1}`))
	_, err := a.Resume(ctx, "t")
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "output" || !strings.Contains(err.Error(), `"fetch"`) {
		t.Errorf("an output that is no string: %v", err)
	}
	boom := errors.New("boom")
	in, out := fetches(&inputs), fetches(&inputs)
	in.In = func(*trail) (string, error) { return "", boom }
	out.Out = func(s *trail, _ string) error { s.Nodes = append(s.Nodes, "discarded"); return boom }
	large := fetches(&inputs)
	large.In = func(*trail) (string, error) { return strings.Repeat("x", 1<<20), nil }
	for thread, r := range map[string]graph.Remote[trail, string, string]{"in": in, "out": out, "large": large} {
		a := compile(t, remoteLine(r), l, nil)
		_, err := a.Run(ctx, thread, trail{})
		if thread == "out" {
			resolveTask(t, l, theTask(t, l, thread).ID, completed(`"page"`))
			_, err = a.Resume(ctx, thread)
		}
		if want := map[string]error{"in": boom, "out": boom, "large": posthouse.ErrTooLarge}[thread]; !errors.Is(err, want) {
			t.Errorf("%s: %v", thread, err)
		}
		if n := must.Get(a.State(ctx, thread))(t).State.Nodes; !slices.Equal(n, []string{"plan"}) || len(openTasks(t, l, thread)) != 0 {
			t.Errorf("%s: %q is left", thread, n)
		}
	}
}

// TestRemoteNodesAreChecked by Compile, which names the node and what is wrong with it.
func TestRemoteNodesAreChecked(t *testing.T) {
	l, inputs := newLedger(t), 0
	type remote = graph.Remote[trail, string, string]
	for want, change := range map[string]func(*remote){
		`remote node "fetch" has no Task`:                            func(r *remote) { r.Task = "" },
		`remote node "fetch" has no In`:                              func(r *remote) { r.In = nil },
		`remote node "fetch" has no Out`:                             func(r *remote) { r.Out = nil },
		`remote node "fetch" cannot be dispatched: posthouse: task `: func(r *remote) { r.Task = "a\nb" },
		`dispatched: posthouse: group `:                              func(r *remote) { r.Group = "a\nb" },
		`dispatched: posthouse: Expires `:                            func(r *remote) { r.Expires = -1 },
		`dispatched: posthouse: Start `:                              func(r *remote) { r.Start = 1 << 62 },
		`dispatched: posthouse: attempts `:                           func(r *remote) { r.Limits.MaxAttempts = 1001 },
	} {
		r := fetches(&inputs)
		change(&r)
		_, err := remoteLine(r).Compile(l, nil)
		var p *graph.Problems
		if !errors.As(err, &p) || !errors.Is(err, posthouse.ErrInvalid) || len(p.List) != 1 || !strings.Contains(p.List[0], want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	g := graph.New[trail]("g")
	g.Remote("empty", remote{})
	g.Remote("nil", nil)
	g.Remote("bounded", fetches(&inputs), graph.NodeOptions{Timeout: time.Minute})
	g.Remote("tried", fetches(&inputs), graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 2}})
	g.Remote("fine", fetches(&inputs), graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 1}, Timeout: -1})
	for from, to := range map[string]string{graph.Start: "empty", "empty": "nil", "nil": "bounded", "bounded": "tried", "tried": "fine", "fine": graph.End} {
		g.Edge(from, to)
	}
	_, err := g.Compile(l, nil)
	var p *graph.Problems
	if !errors.As(err, &p) {
		t.Fatal(err)
	}
	const bounds = ` has a Retry, Timeout or IdleTimeout: bound its task by Limits and Expires`
	wantList(t, "problems", p.List,
		`remote node "empty" has no Task`, `remote node "empty" has no In`, `remote node "empty" has no Out`, `node "nil" has no function`,
		`remote node "bounded"`+bounds, `remote node "tried"`+bounds)
}

func TestShapeOfARemoteNode(t *testing.T) {
	inputs := 0
	s := compile(t, remoteLine(fetches(&inputs)), newLedger(t), nil).Shape()
	if n := s.Nodes[1]; n.Name != "fetch" || n.Kind != "remote" || n.Remote != "fetch" || s.Nodes[0].Remote != "" {
		t.Errorf("s.Nodes %+v", s.Nodes)
	}
}
