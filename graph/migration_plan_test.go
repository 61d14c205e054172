package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// An order is the state of the second version: the first had no Currency, and
// its Total was a text under another name.
type order struct {
	Nodes    []string `posthouse:"append"`
	Total    int
	Currency string
}

type oldOrder struct {
	Nodes []string `posthouse:"append"`
	Sum   string
}

type job struct{ URL string }

// tally counts calls by name, also of nodes that run at once.
func tally(calls map[string]int) func(name string) {
	var mu sync.Mutex
	return func(name string) {
		mu.Lock()
		defer mu.Unlock()
		calls[name]++
	}
}

// oldShop fans out to price (which fails while broken) and stock, and joins them
// before ship; audit is deferred.
func oldShop(broken *bool, calls map[string]int) *graph.Graph[oldOrder] {
	g := graph.New[oldOrder]("shop")
	count := tally(calls)
	node := func(name string) func(context.Context, *oldOrder) error {
		return func(ctx context.Context, s *oldOrder) error {
			count(name)
			if name == "price" {
				if _, err := do(ctx, "llm", func() (int, error) { count("llm"); return 1, nil }); err != nil {
					return err
				}
				if *broken {
					return errors.New("boom")
				}
			}
			s.Nodes = append(s.Nodes, name)
			return nil
		}
	}
	for _, n := range []string{"price", "stock", "ship", "audit"} {
		o := graph.NodeOptions{Defer: n == "audit"}
		g.Node(n, node(n), o)
	}
	for _, n := range []string{"price", "stock", "audit"} {
		g.Edge(graph.Start, n)
	}
	g.Join("ship", "price", "stock")
	g.Edge("ship", graph.End)
	g.Edge("audit", graph.End)
	return g
}

// newShop is the same with price renamed to quote, ship to send, and the state
// of the second version.
func newShop(calls map[string]int) *graph.Graph[order] {
	g := graph.New[order]("shop")
	count := tally(calls)
	node := func(name string) func(context.Context, *order) error {
		return func(ctx context.Context, s *order) error {
			count(name)
			if name == "quote" {
				if _, err := do(ctx, "llm", func() (int, error) { count("llm"); return 1, nil }); err != nil {
					return err
				}
			}
			s.Nodes = append(s.Nodes, name)
			return nil
		}
	}
	for _, n := range []string{"quote", "stock", "send", "audit"} {
		g.Node(n, node(n), graph.NodeOptions{Defer: n == "audit"})
	}
	for _, n := range []string{"quote", "stock", "audit"} {
		g.Edge(graph.Start, n)
	}
	g.Join("send", "quote", "stock")
	g.Edge("send", graph.End)
	g.Edge("audit", graph.End)
	return g
}

func shopMigration(from string) graph.Migration {
	return graph.Migration{
		From:  from,
		Nodes: map[string]string{"price": "quote", "ship": "send"},
		Parts: func(s posthouse.State) (posthouse.State, error) {
			var sum string
			if err := json.Unmarshal(s["Sum"].Data, &sum); err != nil {
				return nil, err
			}
			delete(s, "Sum")
			s["Total"] = posthouse.Value{Codec: "json", Data: []byte(sum)}
			s["Currency"] = posthouse.Value{Codec: "json", Data: []byte(`"EUR"`)}
			return s, nil
		},
	}
}

// failedShop leaves a thread in which stock completed and price failed.
func failedShop(t *testing.T, l *ledger.Ledger, thread string) (*graph.App[oldOrder], map[string]int) {
	t.Helper()
	broken, calls := true, map[string]int{}
	a := compile(t, oldShop(&broken, calls), l, nil)
	if _, err := a.Run(t.Context(), thread, oldOrder{Sum: "12"}); err == nil {
		t.Fatal("the run did not fail")
	}
	return a, calls
}

// Everything that does not fit is in one error, and the thread is untouched.
func TestAChangedGraphIsRefusedWithAllReasons(t *testing.T) {
	l := newLedger(t)
	failedShop(t, l, "t")
	type other struct{ Nodes, Sum int }
	g := graph.New[other]("shop")
	g.Node("only", func(context.Context, *other) error { return nil })
	g.Edge(graph.Start, "only")
	g.Edge("only", graph.End)
	a := compile(t, g, l, nil)
	before := must.Get(l.Thread(t.Context(), "t"))(t).Tail
	_, err := a.Resume(t.Context(), "t")
	var ch *graph.ChangedError
	if !errors.As(err, &ch) || !errors.Is(err, posthouse.ErrInvalid) || ch.Migrated {
		t.Fatal(err)
	}
	var have []string
	for _, m := range ch.Mismatches {
		have = append(have, string(m.Kind)+" "+m.Name)
	}
	wantList(t, "mismatches", have, "part Sum", "node price", "node stock", "node audit", "result stock")
	if now := must.Get(l.Thread(t.Context(), "t"))(t).Tail; now != before {
		t.Fatal("the thread was touched")
	}
}

// Adding nodes, edges and parts, removing a node that nothing names, and another
// merge rule are taken as they come.
func TestCompatibleChangesPass(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "gone", "b"), l, &graph.CompileOptions{InterruptBefore: []string{"b"}})
	must.Get(a.Run(t.Context(), "t", trail{N: 3}))(t)
	type wide struct {
		Nodes []string `posthouse:"append"`
		N     int      `posthouse:"sum"`
		More  []string
	}
	g := graph.New[wide]("line")
	for _, n := range []string{"a", "b", "c"} {
		g.Node(n, func(_ context.Context, s *wide) error { s.Nodes = append(s.Nodes, n); return nil })
	}
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", "c")
	g.Edge("c", graph.End)
	later := compile(t, g, l, nil)
	if later.Fingerprint() == a.Fingerprint() {
		t.Fatal("the same fingerprint")
	}
	out := must.Get(later.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "gone", "b", "c")
	if out.State.N != 3 {
		t.Fatalf("state %+v", out.State)
	}
	h := history(t, later, "t")
	if h[0].Fingerprint != later.Fingerprint() || h[2].Fingerprint != a.Fingerprint() {
		t.Fatal("the fingerprints do not say who made what")
	}
}

// A renamed node keeps its recorded steps, a task that completed beside it its
// result, a join its arrivals; the old checkpoints stay as they were.
func TestMigration(t *testing.T) {
	l := newLedger(t)
	old, calls := failedShop(t, l, "t")
	oldHead := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"}))(t)
	a := compile(t, newShop(calls), l, &graph.CompileOptions{Migrations: []graph.Migration{shopMigration(old.Fingerprint())}})

	if s := must.Get(a.State(t.Context(), "t"))(t); s.State.Total != 12 || s.State.Currency != "EUR" {
		t.Fatalf("the old state reads %+v", s.State)
	}
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	if fmt.Sprint(calls) != "map[audit:1 llm:1 price:1 quote:1 send:1 stock:1]" {
		t.Fatalf("calls %v", calls)
	}
	wantList(t, "nodes", out.State.Nodes, "quote", "stock", "send", "audit")
	if out.State.Total != 12 || out.State.Currency != "EUR" {
		t.Fatalf("state %+v", out.State)
	}
	h := history(t, a, "t")
	wantList(t, "history", kinds(h), "node audit", "node send", "node quote+stock", "migrate quote", "fail price", "input")
	if now := must.Get(l.Get(t.Context(), oldHead.ID))(t); fmt.Sprint(now.State) != fmt.Sprint(oldHead.State) || now.Node != "price" {
		t.Fatal("the old checkpoint changed")
	}
	if c := must.Get(l.Get(t.Context(), h[3].ID))(t); c.State["Sum"].Data != nil || string(c.State["Total"].Data) != "12" {
		t.Fatalf("on record %v", c.State)
	}
}

// A gate that waits stays the same gate under a migration, and so does a
// decision that came before it.
func TestMigrationKeepsGates(t *testing.T) {
	for _, early := range []bool{false, true} {
		l := newLedger(t)
		g := graph.New[oldOrder]("shop")
		g.Node("approve", func(ctx context.Context, s *oldOrder) error { _, err := ask(ctx, "ok"); return err })
		g.Edge(graph.Start, "approve")
		g.Edge("approve", graph.End)
		old := compile(t, g, l, nil)
		out := must.Get(old.Run(t.Context(), "t", oldOrder{Sum: "5"}))(t)
		gate := out.Waiting[0].ID
		if early {
			decide(t, l, gate, posthouse.Reject)
		}
		n := graph.New[order]("shop")
		n.Node("review", func(ctx context.Context, s *order) error {
			d, err := ask(ctx, "ok")
			if err == nil {
				s.Currency = string(d.Verdict)
			}
			return err
		})
		n.Edge(graph.Start, "review")
		n.Edge("review", graph.End)
		m := shopMigration("")
		m.Nodes = map[string]string{"approve": "review"}
		a := compile(t, n, l, &graph.CompileOptions{Migrations: []graph.Migration{m}})
		if !early {
			parked := must.Get(a.Resume(t.Context(), "t"))(t)
			if parked.Status != posthouse.StatusWaiting || len(parked.Waiting) != 1 || parked.Waiting[0].ID != gate || parked.State.Total != 5 {
				t.Fatalf("result %+v", parked)
			}
			decide(t, l, gate, posthouse.Reject)
		}
		done := must.Get(a.Resume(t.Context(), "t"))(t)
		if done.Status != posthouse.StatusDone || done.State.Currency != "reject" {
			t.Fatalf("early %v: result %+v", early, done)
		}
	}
}

// An input sent to a task is checked, key by key, and can be migrated.
func TestMigrationOfInputs(t *testing.T) {
	l := newLedger(t)
	type link struct{ Href string }
	build := func(add func(*graph.Graph[trail])) *graph.Graph[trail] {
		g := graph.New[trail]("map")
		add(g)
		g.Map(graph.Start, func(*trail) []graph.Send {
			return []graph.Send{{Node: "fetch", Input: job{"u1"}}, {Node: "fetch", Input: job{"u2"}}}
		}, "fetch")
		g.Edge("fetch", graph.End)
		return g
	}
	old := compile(t, build(func(g *graph.Graph[trail]) {
		graph.Task(g, "fetch", func(_ context.Context, in job, s *trail) error { return nil }, graph.NodeOptions{InterruptBefore: true})
	}), l, nil)
	must.Get(old.Run(t.Context(), "t", trail{}))(t)
	later := build(func(g *graph.Graph[trail]) {
		graph.Task(g, "fetch", func(_ context.Context, in link, s *trail) error { s.Nodes = append(s.Nodes, in.Href); return nil })
	})
	_, err := compile(t, later, l, nil).Resume(t.Context(), "t")
	var ch *graph.ChangedError
	if !errors.As(err, &ch) || len(ch.Mismatches) != 1 || ch.Mismatches[0].Kind != graph.MismatchInput {
		t.Fatal(err)
	}
	m := graph.Migration{From: old.Fingerprint(), Inputs: func(node string, in posthouse.Value) (posthouse.Value, error) {
		var j job
		if err := json.Unmarshal(in.Data, &j); err != nil || node != "fetch" {
			return in, err
		}
		return posthouse.Encode(nil, link{j.URL})
	}}
	a := compile(t, later, l, &graph.CompileOptions{Migrations: []graph.Migration{m}})
	wantList(t, "nodes", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "u1", "u2")
}

// Migrations begin at the one that names the version, and go on to the last.
func TestMigrationsInOrder(t *testing.T) {
	l := newLedger(t)
	v1 := compile(t, line("a", "b"), l, &graph.CompileOptions{InterruptBefore: []string{"b"}})
	v2 := compile(t, line("a", "c"), l, &graph.CompileOptions{InterruptBefore: []string{"c"}})
	must.Get(v1.Run(t.Context(), "one", trail{}))(t)
	must.Get(v2.Run(t.Context(), "two", trail{}))(t)
	add := func(n int) func(posthouse.State) (posthouse.State, error) {
		return func(s posthouse.State) (posthouse.State, error) {
			var was int
			_ = json.Unmarshal(s["N"].Data, &was)
			s["N"] = posthouse.Value{Codec: "json", Data: fmt.Append(nil, was*10+n)}
			return s, nil
		}
	}
	v3 := compile(t, line("a", "d"), l, &graph.CompileOptions{Migrations: []graph.Migration{
		{From: v1.Fingerprint(), Nodes: map[string]string{"b": "c"}, Parts: add(1)},
		{From: v2.Fingerprint(), Nodes: map[string]string{"c": "d"}, Parts: add(2)},
	}})
	for thread, want := range map[string]int{"one": 12, "two": 2} {
		out := must.Get(v3.Resume(t.Context(), thread))(t)
		wantList(t, thread, out.State.Nodes, "a", "d")
		if out.State.N != want {
			t.Errorf("%s: %d, want %d", thread, out.State.N, want)
		}
	}
}

// A migration that fails or panics leaves the thread as it was.
func TestMigrationFails(t *testing.T) {
	for _, parts := range []func(posthouse.State) (posthouse.State, error){
		func(posthouse.State) (posthouse.State, error) { return nil, errors.New("no") },
		func(posthouse.State) (posthouse.State, error) { panic("no") },
		func(s posthouse.State) (posthouse.State, error) {
			s["N"] = posthouse.Value{Codec: "json", Data: []byte(`"x"`)}
			return s, nil
		},
	} {
		l := newLedger(t)
		must.Get(compile(t, line("a", "b"), l, &graph.CompileOptions{InterruptBefore: []string{"b"}}).Run(t.Context(), "t", trail{}))(t)
		tail := must.Get(l.Thread(t.Context(), "t"))(t).Tail
		a := compile(t, line("b", "a"), l, &graph.CompileOptions{Migrations: []graph.Migration{{Parts: parts}}})
		_, err := a.Resume(t.Context(), "t")
		var ch *graph.ChangedError
		if !errors.As(err, &ch) || !ch.Migrated || must.Get(l.Thread(t.Context(), "t"))(t).Tail != tail {
			t.Fatal(err)
		}
	}
}

// If the pending node of a thread is gone, an input starts over on its state.
func TestInputForAChangedGraph(t *testing.T) {
	l := newLedger(t)
	must.Get(compile(t, line("a", "b"), l, &graph.CompileOptions{InterruptBefore: []string{"b"}}).Run(t.Context(), "t", trail{}))(t)
	out := must.Get(compile(t, line("c"), l, nil).Run(t.Context(), "t", trail{N: 1}))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "c")
}

// An update and a fork of an old checkpoint begin with its migrated state.
func TestUpdateAndForkMigrate(t *testing.T) {
	l := newLedger(t)
	old, calls := failedShop(t, l, "t")
	head := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"}))(t)
	a := compile(t, newShop(calls), l, &graph.CompileOptions{Migrations: []graph.Migration{shopMigration(old.Fingerprint())}})
	f := must.Get(a.Fork(t.Context(), head.ID, func(s *order) { s.Total++ }))(t)
	if f.State.Total != 13 || f.Fingerprint != a.Fingerprint() {
		t.Fatalf("fork %+v", f)
	}
	out := must.Get(a.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}))(t)
	if out.State.Total != 13 || calls["llm"] != 1 || calls["stock"] != 1 {
		t.Fatalf("result %+v, calls %v", out, calls)
	}
	u := must.Get(a.Update(t.Context(), "t", func(s *order) { s.Total += 2 }))(t)
	if u.State.Total != 14 || u.Fingerprint != a.Fingerprint() {
		t.Fatalf("update %+v", u)
	}
	wantList(t, "next", u.Next, "quote")
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	if out.State.Total != 14 || calls["stock"] != 1 || out.Status != posthouse.StatusDone {
		t.Fatalf("result %+v, calls %v", out, calls)
	}
	wantList(t, "nodes", out.State.Nodes, "stock", "quote", "send", "audit")
}

// Check tells what a deploy would do to every open branch, and writes nothing.
func TestCheck(t *testing.T) {
	l := open(t, memstore.New(), nil)
	old, calls := failedShop(t, l, "failed")
	broken := false
	must.Get(compile(t, oldShop(&broken, calls), l, nil).Run(t.Context(), "done", oldOrder{Sum: "x"}))(t)
	must.Get(compile(t, line("a", "b"), l, &graph.CompileOptions{InterruptAfter: []string{"a"}}).Run(t.Context(), "other", trail{}))(t)
	find := func(a *graph.App[order], o *graph.CheckOptions) (have []string) {
		t.Helper()
		for f, err := range a.Check(t.Context(), o) {
			if err != nil {
				t.Fatal(err)
			}
			have = append(have, fmt.Sprint(f.Thread, " ", f.Kind, " ", f.Next))
			if (f.Err != nil) != (f.Kind == graph.FindingFails) {
				t.Fatalf("finding %+v", f)
			}
		}
		return have
	}
	plain := compile(t, newShop(calls), l, nil)
	wantList(t, "without migrations", find(plain, nil), "failed fails [price stock]")
	with := compile(t, newShop(calls), l, &graph.CompileOptions{Migrations: []graph.Migration{shopMigration(old.Fingerprint())}})
	tail := must.Get(l.Thread(t.Context(), "failed"))(t).Tail
	wantList(t, "with one", find(with, nil), "failed migrates [quote stock]")
	wantList(t, "with a prefix", find(with, &graph.CheckOptions{Ended: true, Prefix: "fai"}), "failed migrates [quote stock]")
	wantList(t, "also ended ones", find(with, &graph.CheckOptions{Ended: true}), "done fails []", "failed migrates [quote stock]")
	if must.Get(l.Thread(t.Context(), "failed"))(t).Tail != tail {
		t.Fatal("the check wrote")
	}
	must.Get(with.Resume(t.Context(), "failed"))(t)
	wantList(t, "behind the deploy", find(with, nil))
	wantList(t, "all", find(with, &graph.CheckOptions{Ended: true, All: true, Thread: "failed"}), "failed same []")
}
