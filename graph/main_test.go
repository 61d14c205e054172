package graph_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) {
	if killed() {
		return
	}
	goleak.VerifyTestMain(m)
}

func open(tb testing.TB, store posthouse.Store, o *ledger.Options) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Open(store, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

func newLedger(tb testing.TB) *ledger.Ledger {
	tb.Helper()
	return open(tb, memstore.New(), nil)
}

func compile[S any](tb testing.TB, g *graph.Graph[S], l *ledger.Ledger, o *graph.CompileOptions) *graph.App[S] {
	tb.Helper()
	if o == nil {
		o = &graph.CompileOptions{Check: true}
	}
	a, err := g.Compile(l, o)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// do is a recorded step: what package step offers, without importing it.
func do[T any](ctx context.Context, name string, fn func() (T, error)) (v T, err error) {
	t, _ := engine.From(ctx)
	val, err := t.Do(ctx, name, posthouse.EffectExternal, func(context.Context) (posthouse.Value, error) {
		v, err := fn()
		if err != nil {
			return posthouse.Value{}, err
		}
		return posthouse.Encode(nil, v)
	})
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(val.Data, &v)
}

// ask puts a question: what package gate offers, without importing it.
func ask(ctx context.Context, name string) (*posthouse.Decision, error) {
	t, _ := engine.From(ctx)
	g, err := t.Gates().Ask(ctx, posthouse.Gate{Name: name})
	if err != nil {
		return nil, err
	}
	return g.Decision, nil
}

func decide(tb testing.TB, l *ledger.Ledger, gate posthouse.ID, v posthouse.Verdict) {
	tb.Helper()
	if _, err := l.Decide(tb.Context(), gate, posthouse.Decision{Verdict: v, By: "alice"}); err != nil {
		tb.Fatal(err)
	}
}

func history[S any](tb testing.TB, a *graph.App[S], thread string, o ...graph.HistoryOptions) []*graph.Snapshot[S] {
	tb.Helper()
	var list []*graph.Snapshot[S]
	for s, err := range a.History(tb.Context(), thread, o...) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func kinds[S any](list []*graph.Snapshot[S]) (ks []string) {
	for _, s := range list {
		k := s.Kind
		if s.Node != "" {
			k += " " + s.Node
		}
		ks = append(ks, k)
	}
	return ks
}

func wantList(tb testing.TB, what string, have []string, want ...string) {
	tb.Helper()
	if !slices.Equal(have, want) {
		tb.Fatalf("%s: %q, want %q", what, have, want)
	}
}

// collect reads a stream to its end.
func collect[S any](tb testing.TB, seq func(func(graph.Event[S], error) bool)) (events []graph.Event[S], names []string) {
	tb.Helper()
	for e, err := range seq {
		if err != nil {
			tb.Fatal(err)
		}
		name := string(e.Kind)
		if e.Kind == runs.EventNode {
			name = e.Node
		}
		events, names = append(events, e), append(names, name)
	}
	return events, names
}

// A trail is a state that remembers which nodes ran.
type trail struct {
	Nodes []string `posthouse:"append"`
	Go    string   // where routes lead
	N     int
}

func visit(name string) func(context.Context, *trail) error {
	return func(_ context.Context, s *trail) error { s.Nodes = append(s.Nodes, name); return nil }
}

// line is a graph of nodes one after another.
func line(names ...string) *graph.Graph[trail] {
	g := graph.New[trail]("line")
	from := graph.Start
	for _, n := range names {
		g.Node(n, visit(n))
		g.Edge(from, n)
		from = n
	}
	g.Edge(from, graph.End)
	return g
}
