package graph_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/stalling"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A journey is a graph that reads what is on record wherever a graph does: tasks beside each
// other, subgraphs in its thread and in their own, attempts, a handler, an effect under an
// approval, and a version after it that has other names.
type journey struct {
	pay   string // the name of the node that pays
	calls map[string]int
	mu    *sync.Mutex
}

func (j journey) did(what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls[what]++
	return j.calls[what]
}

func (j journey) build() *graph.Graph[outerState] {
	asks := func(name string) *graph.Graph[innerState] {
		g := graph.New[innerState](name)
		g.Node("first", visitInner(name))
		g.Node("ask", func(ctx context.Context, s *innerState) error {
			if _, err := step.Do(ctx, "note", func(context.Context) (int, error) { return j.did(name + " asks"), nil }); err != nil {
				return err
			}
			_, err := gate.Ask[any](ctx, gate.Question{Name: "ok-" + name})
			return err
		})
		g.Node("last", visitInner("end of "+name))
		g.Edge(graph.Start, "first")
		g.Edge("first", "ask")
		g.Edge("ask", "last")
		g.Edge("last", graph.End)
		return g
	}
	g := graph.New[outerState]("journey")
	g.Node("begin", func(ctx context.Context, s *outerState) error {
		if _, err := step.Do(ctx, "begin", func(context.Context) (int, error) { return j.did("begin"), nil }); err != nil {
			return err
		}
		if j.did("attempt") == 1 {
			return errors.New("the first attempt fails")
		}
		s.Log = append(s.Log, "begun")
		return nil
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Microsecond}})
	out := func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil }
	graph.Subgraph(g, "within", asks("within"), &graph.SubOptions[outerState, innerState]{Out: out})
	graph.Subgraph(g, "apart", asks("apart"), &graph.SubOptions[outerState, innerState]{Out: out, OwnThread: true})
	graph.Subgraph(g, "later", asks("later"), &graph.SubOptions[outerState, innerState]{Out: out, OwnThread: true, Lifetime: graph.PerThread})
	g.Node("beside", func(ctx context.Context, s *outerState) error {
		_, err := step.Do(ctx, "beside", func(context.Context) (int, error) { return j.did("beside"), nil })
		return err
	})
	g.Node("breaks", func(context.Context, *outerState) error { return errors.New("it always does") }, graph.NodeOptions{})
	g.OnError("breaks", func(_ context.Context, s *outerState, _ error) (graph.Command, error) {
		return graph.Command{}, nil
	})
	g.Node(j.pay, func(ctx context.Context, s *outerState) error {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, s.Topic)
		if err != nil {
			return err
		}
		paid, err := gate.Act(ctx, "pay", grant, func(_ context.Context, to string) (int, error) { return j.did("pay"), nil })
		s.Log = append(s.Log, fmt.Sprint("paid ", paid))
		return err
	})
	for _, name := range []string{"within", "apart", "beside", "breaks"} {
		g.Edge("begin", name)
		g.Edge(name, "join")
	}
	g.Node("join", func(context.Context, *outerState) error { return nil })
	g.Edge(graph.Start, "begin")
	g.Edge("join", j.pay)
	g.Edge(j.pay, "later")
	g.Edge("later", graph.End)
	return g
}

// travel takes a journey from its start to its end over a store that does not answer once, and
// returns that store. The version that pays under another name comes after the first questions.
func travel(t *testing.T, below posthouse.Store, at int) *stalling.Outage {
	s, j := stalling.NewOutage(below, at), journey{pay: "pay", calls: map[string]int{}, mu: &sync.Mutex{}}
	people := open(t, below, &ledger.Options{Validate: gate.Validator()})
	l := open(t, s, &ledger.Options{Owner: "here", Validate: gate.Validator()})
	first := compile(t, j.build(), l, nil)
	j.pay = "transfer"
	second := compile(t, j.build(), l, &graph.CompileOptions{Migrations: []graph.Migration{{From: first.Fingerprint(), Nodes: map[string]string{"pay": "transfer"}}}})
	app, began := first, false
	for range 40 {
		var out *graph.Result[outerState]
		var err error
		if began {
			out, err = app.Resume(t.Context(), "t")
		} else {
			out, err = app.Run(t.Context(), "t", outerState{Topic: "shop"}, graph.RunOptions{Run: "r"})
		}
		if err != nil && !errors.Is(err, posthouse.ErrUnavailable) {
			t.Fatalf("the run ends with %v after %s was not answered", err, s.Missed())
		}
		for info, err := range people.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			began = began || info.Thread == "t"
			if info.Status == posthouse.StatusFailed {
				h := must.Get(people.Latest(t.Context(), ledger.LatestQuery{Thread: info.Thread}))(t)
				t.Fatalf("thread %s is failed after %s was not answered (call %d): %s", info.Thread, s.Missed(), at, h.Error)
			}
		}
		if err == nil && out.Status == posthouse.StatusDone {
			j.arrived(t, s, out)
			return s
		}
		for g, err := range people.Gates(t.Context(), ledger.GateQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !g.AsksPeople() {
				continue
			}
			app = second
			d := posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}
			if g.Kind == gate.KindOutcome {
				d.Verdict = posthouse.Redo
				if j.calls["pay"] > 0 { // the result was not recorded
					d.Verdict, d.Value = posthouse.Happened, []byte("1")
				}
			}
			must.Get(people.Decide(t.Context(), g.ID, d))(t)
		}
	}
	t.Fatalf("the run does not end after %s was not answered (call %d)", s.Missed(), at)
	return nil
}

func (j journey) arrived(t *testing.T, s *stalling.Outage, out *graph.Result[outerState]) {
	t.Helper()
	want := []string{"begun", "within", "end of within", "apart", "end of apart", "paid 1", "later", "end of later"}
	slices.Sort(want)
	log := slices.Clone(out.State.Log)
	slices.Sort(log)
	if !slices.Equal(log, want) {
		t.Fatalf("the log is %q after %s was not answered, want %q", out.State.Log, s.Missed(), want)
	}
	if j.calls["pay"] != 1 {
		t.Fatalf("paid %d times after %s was not answered", j.calls["pay"], s.Missed())
	}
}

// TestStoreThatIsAwayFailsNoRun has a store leave each of its calls unanswered in turn. The run
// then ends with that error and nothing is recorded as failed: it goes on once the store is back.
func TestStoreThatIsAwayFailsNoRun(t *testing.T) {
	for at := 1; ; at++ {
		if s := travel(t, memstore.New(), at); s.Missed() == "" {
			if t.Logf("%d calls in a run", at-1); at < 100 {
				t.Errorf("a run has only %d calls", at-1)
			}
			break
		}
	}
	for at := 1; ; at += 29 {
		below, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), &sqlitestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := travel(t, below, at)
		if err := below.Close(); err != nil {
			t.Fatal(err)
		}
		if s.Missed() == "" {
			break
		}
	}
}
