package origins

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

type input struct {
	Prompt string `json:"prompt"`
	Lang   string `json:"lang"`
}

// A work is a state with the partitions of AgentOS.
type work struct {
	Input     input
	Scratch   []string          `posthouse:"append"`
	Artifacts map[string]string `posthouse:"merge"`
	Tokens    int               `posthouse:"sum"`
	Best      int               `posthouse:"max"`
	Own       string
}

type node = func(context.Context, *work) error

func visit(name string) node {
	return func(_ context.Context, s *work) error { s.Scratch = append(s.Scratch, name); return nil }
}

// line is a graph of nodes one after another.
func line(names ...string) *graph.Graph[work] {
	g := graph.New[work]("work")
	for _, n := range names {
		g.Node(n, visit(n))
	}
	chain(g, names...)
	return g
}

func chain(g *graph.Graph[work], names ...string) {
	from := graph.Start
	for _, n := range append(names, graph.End) {
		g.Edge(from, n)
		from = n
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func open(tb testing.TB, store posthouse.Store, now func() time.Time) *ledger.Ledger {
	tb.Helper()
	l := must(ledger.Open(store, &ledger.Options{Now: now, Validate: gate.Validator()}))(tb)
	tb.Cleanup(func() { l.Close() })
	return l
}

func newLedger(tb testing.TB) *ledger.Ledger { tb.Helper(); return open(tb, memstore.New(), nil) }

// restarts calls each function as a process of its own, on one database file.
func restarts(t *testing.T, processes ...func(l *ledger.Ledger)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, process := range processes {
		store := must(sqlitestore.Open(t.Context(), path, nil))(t)
		l := must(ledger.Open(store, nil))(t)
		process(l)
		if err := errors.Join(l.Close(), store.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func compile(tb testing.TB, g *graph.Graph[work], l *ledger.Ledger, o ...graph.CompileOptions) *graph.App[work] {
	tb.Helper()
	opt := graph.CompileOptions{Check: true}
	if len(o) > 0 {
		opt = o[0]
	}
	return must(g.Compile(l, &opt))(tb)
}

func decide(tb testing.TB, l *ledger.Ledger, gate posthouse.ID, v posthouse.Verdict) {
	tb.Helper()
	must(l.Decide(tb.Context(), gate, posthouse.Decision{Verdict: v, By: "alice"}))(tb)
}

func wantList(tb testing.TB, what string, have []string, want ...string) {
	tb.Helper()
	if !slices.Equal(have, want) {
		tb.Fatalf("%s: %q, want %q", what, have, want)
	}
}

func wantCode(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Fatalf("error %v, want %v", err, want)
	}
}

// head reads the head of main.
func head(tb testing.TB, a *graph.App[work], o ...graph.StateOptions) *graph.Snapshot[work] {
	tb.Helper()
	return must(a.State(tb.Context(), "t", o...))(tb)
}
