package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

// badState is a state that bad nodes work on.
type badState struct {
	Log []string `posthouse:"append"`
	N   int
}

// one is a graph of good, then bad.
func one(bad func(context.Context, *badState) error, o ...graph.NodeOptions) *graph.Graph[badState] {
	g := graph.New[badState]("bad")
	g.Node("good", func(_ context.Context, s *badState) error { s.Log = append(s.Log, "good"); return nil })
	g.Node("bad", bad, o...)
	g.Edge(graph.Start, "good")
	g.Edge("good", "bad")
	g.Edge("bad", graph.End)
	return g
}

// Whatever a node does, the error has a type, the thread says failed, and its
// state is what it was before the node.
func TestBadNodes(t *testing.T) {
	type check func(t *testing.T, err error)
	is := func(target error) check {
		return func(t *testing.T, err error) {
			if !errors.Is(err, target) {
				t.Errorf("%v is not %v", err, target)
			}
		}
	}
	timeout := func(idle, abandoned bool) check {
		return func(t *testing.T, err error) {
			var e *runs.TimeoutError
			if !errors.As(err, &e) || e.Idle != idle || e.Abandoned != abandoned {
				t.Errorf("%v is no TimeoutError with %v, %v", err, idle, abandoned)
			}
		}
	}
	spoil := func(s *badState) { s.N, s.Log = 7, append(s.Log, "spoilt") }
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, s *badState, free <-chan struct{}) error
		o    graph.NodeOptions
		want check
	}{
		{"panics", func(_ context.Context, s *badState, _ <-chan struct{}) error { spoil(s); panic("boom") }, graph.NodeOptions{}, nil},
		{"fails", func(_ context.Context, s *badState, _ <-chan struct{}) error { spoil(s); return errBad }, graph.NodeOptions{}, is(errBad)},
		{"blocks", func(ctx context.Context, s *badState, _ <-chan struct{}) error {
			spoil(s)
			<-ctx.Done()
			return ctx.Err()
		},
			graph.NodeOptions{Timeout: time.Minute}, timeout(false, false)},
		{"is idle", func(ctx context.Context, s *badState, _ <-chan struct{}) error {
			spoil(s)
			<-ctx.Done()
			return ctx.Err()
		},
			graph.NodeOptions{IdleTimeout: time.Minute}, timeout(true, false)},
		{"blocks for ever", func(_ context.Context, s *badState, free <-chan struct{}) error { spoil(s); <-free; return nil },
			graph.NodeOptions{Timeout: time.Minute}, timeout(false, true)},
		{"takes back an element", func(_ context.Context, s *badState, _ <-chan struct{}) error { s.Log = nil; return nil },
			graph.NodeOptions{}, is(posthouse.ErrInvalid)},
		{"waits for nothing", func(context.Context, *badState, <-chan struct{}) error { return posthouse.ErrWaiting },
			graph.NodeOptions{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				defer synctest.Wait()
				defer close(free)
				l := newLedger(t)
				app := compile(t, one(func(ctx context.Context, s *badState) error { return c.run(ctx, s, free) }, c.o), l, nil)
				_, err := app.Run(t.Context(), "t", badState{N: 1})
				var n *graph.NodeError
				if !errors.As(err, &n) || n.Node != "bad" {
					t.Fatalf("%v is no NodeError", err)
				}
				if c.want != nil {
					c.want(t, err)
				}
				s := must.Get(app.State(t.Context(), "t"))(t)
				if s.Status != posthouse.StatusFailed || fmt.Sprint(s.State) != "{[good] 1}" || s.Error == "" {
					t.Errorf("s.Status %v, s.State %v, s.Error %v", s.Status, s.State, s.Error)
				}
			})
		})
	}
}

var errBad = errors.New("bad")

// Text and steps of a goroutine that outlives its node are dropped.
func TestLateNode(t *testing.T) {
	returned, late := make(chan struct{}), make(chan error)
	l := newLedger(t)
	app := compile(t, one(func(ctx context.Context, s *badState) error {
		go func() {
			<-returned
			_, err := do(ctx, "late", func() (int, error) { t.Error("a step ran late"); return 1, nil })
			late <- err
		}()
		return nil
	}), l, nil)
	out := must.Get(app.Run(t.Context(), "t", badState{}))(t)
	close(returned)
	must.Fail(t, <-late, posthouse.ErrClosed)
	if s := must.Get(app.State(t.Context(), "t"))(t); s.ID != out.Checkpoint || s.Status != posthouse.StatusDone {
		t.Error(s.ID, s.Status)
	}
}

// A reducer that fails, or panics, fails the run and names its part.
func TestBadReducer(t *testing.T) {
	for _, panics := range []bool{false, true} {
		g := graph.New[badState]("reduce")
		graph.Merge(g, "N", func(int, []int) (int, error) {
			if panics {
				panic("boom")
			}
			return 0, errBad
		})
		for _, n := range []string{"a", "b"} {
			g.Node(n, func(_ context.Context, s *badState) error { s.N = len(n) + int(n[0]); return nil })
			g.Edge(graph.Start, n)
			g.Edge(n, graph.End)
		}
		app := compile(t, g, newLedger(t), nil)
		_, err := app.Run(t.Context(), "t", badState{N: 1})
		var m *graph.MergeError
		if !errors.As(err, &m) || m.Part != "N" || !panics && !errors.Is(err, errBad) {
			t.Errorf("%v is no MergeError of N", err)
		}
		if s := must.Get(app.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed || s.State.N != 1 {
			t.Errorf("s.Status %v, s.State %v", s.Status, s.State)
		}
	}
}

// An answer that does not fit is refused before it is on record; the question
// waits on.
func TestBadAnswer(t *testing.T) {
	l := open(t, memstore.New(), &ledger.Options{Validate: gate.Validator()})
	app := compile(t, one(func(ctx context.Context, s *badState) error {
		a, err := gate.Ask[int](ctx, gate.Question{Name: "how many?"})
		s.N = a.Value
		return err
	}), l, nil)
	out := must.Get(app.Run(t.Context(), "t", badState{}))(t)
	id := out.Waiting[0].ID
	_, err := l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Respond, Value: []byte(`"many"`), By: "alice"})
	var s *gate.SchemaError
	if !errors.As(err, &s) || !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("%v is no SchemaError", err)
	}
	must.Get(l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Respond, Value: []byte(`3`), By: "alice"}))(t)
	if out := must.Get(app.Resume(t.Context(), "t"))(t); out.State.N != 3 {
		t.Error(out.State)
	}
}

// A thread that is over stays over.
func TestResumeOfAFinishedRun(t *testing.T) {
	l := newLedger(t)
	app := compile(t, line("a"), l, nil)
	_, err := app.Resume(t.Context(), "unknown")
	must.Fail(t, err, posthouse.ErrNotFound)
	done := must.Get(app.Run(t.Context(), "done", trail{}))(t)
	again := must.Get(app.Resume(t.Context(), "done"))(t)
	if again.Checkpoint != done.Checkpoint || again.Status != posthouse.StatusDone {
		t.Errorf("again.Checkpoint %v, again.Status %v", again.Checkpoint, again.Status)
	}
	stopped := compile(t, line("a"), l, &graph.CompileOptions{InterruptBefore: []string{"a"}})
	must.Get(stopped.Run(t.Context(), "cancelled", trail{}))(t)
	h := must.Get(l.Cancel(t.Context(), "cancelled", nil))(t)
	out := must.Get(stopped.Resume(t.Context(), "cancelled"))(t)
	if out.Status != posthouse.StatusCancelled || out.Checkpoint != h.ID {
		t.Error(out.Status, out.Checkpoint, h.ID)
	}
}

// A join that cannot happen any more is told, with what is missing.
func TestJoinThatIsNotReached(t *testing.T) {
	g := graph.New[trail]("join")
	for _, n := range []string{"a", "b", "c", "d"} {
		g.Node(n, visit(n))
	}
	g.Edge(graph.Start, "a")
	g.Route("a", func(*trail) string { return "b" }, "b", "c")
	g.Join("d", "b", "c")
	g.Edge("d", graph.End)
	app := compile(t, g, newLedger(t), nil)
	_, err := app.Run(t.Context(), "t", trail{})
	var j *graph.JoinError
	if !errors.As(err, &j) || j.Node != "d" || fmt.Sprint(j.Arrived, j.Missing) != "[b] [c]" {
		t.Errorf("%v is no JoinError", err)
	}
	if s := must.Get(app.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed {
		t.Error(s.Status)
	}
}
