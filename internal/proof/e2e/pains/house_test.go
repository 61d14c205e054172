package pains_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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

const leaseTTL = time.Second

var errBoom = errors.New("boom")

// A state is what the graphs here are about.
type state struct {
	Log       []string          `posthouse:"append"`
	Artifacts map[string]string `posthouse:"merge"`
	Total     int               `posthouse:"sum"`
	Doc       string
}

// A house is a store, a Ledger on it and a clock, which outlive the process.
type house struct {
	*testing.T
	path   string // of the SQLite file; "": in memory
	store  posthouse.Store
	ledger *ledger.Ledger
	now    time.Time
}

func newHouse(t *testing.T, path string) *house {
	h := &house{T: t, path: path, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	if path == "" {
		h.store = memstore.New()
	}
	h.restart()
	t.Cleanup(func() { h.store.Close() })
	return h
}

// onStores runs a test in memory and on a SQLite file.
func onStores(t *testing.T, f func(h *house)) {
	t.Run("memory", func(t *testing.T) { f(newHouse(t, "")) })
	t.Run("sqlite", func(t *testing.T) { f(newHouse(t, filepath.Join(t.TempDir(), "p.db"))) })
}

// restart is the end of the process and the beginning of another.
func (h *house) restart() {
	h.Helper()
	if h.ledger != nil {
		h.ledger.Close()
	}
	if h.path != "" {
		if h.store != nil {
			h.store.Close()
		}
		h.store = must[posthouse.Store](sqlitestore.Open(context.Background(), h.path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal}))(h)
	}
	h.ledger = h.open(h.store, "me") // of its own name a process knows that it is gone
}

// open is another process's Ledger on the same clock.
func (h *house) open(s posthouse.Store, owner string) *ledger.Ledger {
	h.Helper()
	return must(ledger.Open(s, &ledger.Options{
		Now: func() time.Time { return h.now }, Owner: owner, LeaseTTL: leaseTTL, Validate: gate.Validator(),
	}))(h)
}

func (h *house) decide(g posthouse.ID, d posthouse.Decision) {
	h.Helper()
	d.By = "alice"
	must(h.ledger.Decide(h.Context(), g, d))(h)
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

func want(tb testing.TB, what string, have any, want string) {
	tb.Helper()
	if got := fmt.Sprint(have); got != want {
		tb.Fatalf("%s: %s, want %s", what, got, want)
	}
}

func wantIs(tb testing.TB, err, code error) {
	tb.Helper()
	if !errors.Is(err, code) {
		tb.Fatalf("error %v, want %v", err, code)
	}
}

// A body is what a node does.
type body = func(ctx context.Context, s *state) error

// A part of a graph built by line: a node and what it does.
type node struct {
	name string
	run  body
	opt  graph.NodeOptions
}

// say is a body that says a word.
func say(word string) body {
	return func(_ context.Context, s *state) error { s.Log = append(s.Log, word); return nil }
}

// line is a graph of nodes one after another.
func line(name string, nodes ...node) *graph.Graph[state] {
	g, from := graph.New[state](name), graph.Start
	for _, n := range nodes {
		g.Node(n.name, n.run, n.opt)
		g.Edge(from, n.name)
		from = n.name
	}
	g.Edge(from, graph.End)
	return g
}

func (h *house) app(g *graph.Graph[state], o ...graph.CompileOptions) *graph.App[state] {
	h.Helper()
	opt := graph.CompileOptions{Check: true}
	if len(o) > 0 {
		opt = o[0]
	}
	return must(g.Compile(h.ledger, &opt))(h)
}

// kinds is a thread's history, oldest first, as "kind node" each.
func (h *house) kinds(q posthouse.Query) string {
	h.Helper()
	var list []string
	for c, err := range h.ledger.List(h.Context(), q) {
		list = append(list, strings.TrimSpace(must(c, err)(h).Kind+" "+c.Node))
	}
	return strings.Join(list, ", ")
}
