package graph_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

func problems[S any](t *testing.T, g *graph.Graph[S], l *ledger.Ledger, o *graph.CompileOptions) []string {
	t.Helper()
	_, err := g.Compile(l, o)
	var p *graph.Problems
	if !errors.As(err, &p) || !errors.Is(err, posthouse.ErrInvalid) {
		t.Fatalf("error %v", err)
	}
	for _, s := range p.List {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not list %q", s)
		}
	}
	return p.List
}

func wantProblems(t *testing.T, have []string, want ...string) {
	t.Helper()
	for _, w := range want {
		n := 0
		for _, h := range have {
			if strings.Contains(h, w) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d problems say %q:\n%s", n, w, strings.Join(have, "\n"))
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d problems, want %d:\n%s", len(have), len(want), strings.Join(have, "\n"))
	}
}

// Compile lists everything that is wrong at once.
func TestCompileListsAllProblems(t *testing.T) {
	g := graph.New[trail]("bad\nname")
	g.Node("a", visit("a"))
	g.Node("a", visit("a"))
	g.Node("b", nil)
	g.Node("lonely", visit("lonely"), graph.NodeOptions{Targets: []string{"typo", graph.End}})
	g.Node("dead", visit("dead"), graph.NodeOptions{}, graph.NodeOptions{})
	g.Node("$x", visit("x"))
	g.Node("on two\nlines", visit("y"))
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Edge("a", "b")
	g.Edge("a", graph.End)
	g.Edge("b", "nowhere")
	g.Edge("nobody", "a")
	g.Edge(graph.End, "a")
	g.Edge("lonely", graph.Start)
	g.Route("$x", nil, graph.End, "a")
	g.Route("on two\nlines", func(*trail) string { return "" }, "ghost")
	wantProblems(t, problems(t, g, nil, &graph.CompileOptions{
		RecursionLimit: -1, InterruptBefore: []string{"who"}, InterruptAfter: []string{"*", "what"},
	}),
		"its name \"bad\\nname\"",
		"the ledger is nil",
		"RecursionLimit is negative",
		"node \"a\" is added twice",
		"node \"b\" has no function",
		"more than one NodeOptions",
		"\"$x\" begins with $",
		"node name \"on two\\nlines\"",
		"leads to \"nowhere\"",
		"begins at \"nobody\"",
		"begins at graph.End",
		"leads to graph.Start",
		"route from \"$x\" has no function",
		"leads to \"ghost\"",
		"Targets of node \"lonely\" name \"typo\"",
		"node \"dead\" leads nowhere",
		"node \"lonely\" cannot be reached",
		"node \"dead\" cannot be reached",
		"node \"$x\" cannot be reached",
		"node \"on two\\nlines\" cannot be reached",
		"InterruptBefore names \"who\"",
		"InterruptAfter names \"what\"",
	)
}

func TestCompileNeedsAnEntry(t *testing.T) {
	g := graph.New[trail]("g")
	g.Node("a", visit("a"))
	g.Edge("a", graph.End)
	wantProblems(t, problems(t, g, newLedger(t), nil), "no entry")
}

// A route without targets may lead anywhere, so every node may be reached.
func TestOpenRoutesReachEverything(t *testing.T) {
	g := graph.New[trail]("g")
	g.Node("a", visit("a"))
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "a")
	g.Edge("b", graph.End)
	g.Route("a", func(*trail) string { return "b" })
	compile(t, g, newLedger(t), nil)
}

// A node that only a Command of a subgraph leads to must be among the targets of
// the node that calls it, which then needs no edge.
func TestParentsTargetsAreReached(t *testing.T) {
	sub := graph.New[trail]("sub")
	sub.Command("up", func(context.Context, *trail) (graph.Command, error) {
		return graph.Command{Goto: []string{"there"}, Parent: true}, nil
	})
	sub.Edge(graph.Start, "up")
	around := func(targets ...string) *graph.Graph[trail] {
		g := graph.New[trail]("g")
		graph.Subgraph(g, "sub", sub, &graph.SubOptions[trail, trail]{Node: graph.NodeOptions{Targets: targets}})
		g.Node("there", visit("there"))
		g.Edge(graph.Start, "sub")
		g.Edge("there", graph.End)
		return g
	}
	wantProblems(t, problems(t, around(), newLedger(t), nil), "node \"sub\" leads nowhere", "say so in its SubOptions.Node.Targets")
	app := compile(t, around("there"), newLedger(t), nil)
	wantList(t, "nodes", must.Get(app.Run(t.Context(), "t", trail{}))(t).State.Nodes, "there")
	if e := app.Shape().Edges; !slices.Contains(e, graph.EdgeShape{From: "sub", To: "there", Kind: "command"}) {
		t.Error(e)
	}
}

// An App does not see what is added to its Graph later.
func TestCompileTakesACopy(t *testing.T) {
	g := line("a")
	l := newLedger(t)
	a := compile(t, g, l, nil)
	print := a.Fingerprint()
	g.Node("late", visit("late"))
	g.Edge("late", graph.End)
	if a.Fingerprint() != print {
		t.Fatal("the App changed")
	}
	wantProblems(t, problems(t, g, l, nil), "cannot be reached")
}

type (
	base   struct{ ID string }
	secret struct{ Kept int }
	stamp  struct{ time.Time }
	shadow struct{ ID int }
)

func stateProblems[S any](t *testing.T) []string {
	t.Helper()
	g := graph.New[S]("g")
	g.Node("a", func(context.Context, *S) error { return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	if _, err := g.Compile(newLedger(t), nil); err == nil {
		return nil
	}
	return problems(t, g, newLedger(t), nil)
}

func TestStateTypes(t *testing.T) {
	wantProblems(t, stateProblems[int](t), "must be a struct")
	wantProblems(t, stateProblems[*trail](t), "must be a struct")
	wantProblems(t, stateProblems[struct{}](t))
	wantProblems(t, stateProblems[struct{ a int }](t), "a is unexported and would be lost")
	wantProblems(t, stateProblems[struct {
		_ int
		a int    `posthouse:"-"`
		B func() `posthouse:"-"`
	}](t))
	wantProblems(t, stateProblems[struct {
		C  chan int
		F  func()
		X  complex128
		M  map[struct{ A int }]string
		E  error
		In struct{ Deep []map[string]chan bool }
	}](t), "C is a chan", "F is a func", "X is a complex", "whose keys", "E is a error", "In.Deep is a chan")
	wantProblems(t, stateProblems[struct {
		T  time.Time
		A  netip.Addr
		P  *netip.Addr
		K  map[netip.Addr]int
		I  map[int]any
		R  []byte
		By struct {
			F func() `json:"-"`
		}
	}](t))
	wantProblems(t, stateProblems[struct {
		A int      `posthouse:"append"`
		B []byte   `posthouse:"append"`
		C stamps   `posthouse:"append"`
		D []string `posthouse:"prepend"`
		E int      `posthouse:"name=$e"`
		F int      `posthouse:"name="`
	}](t), "A is a int", "B is a []uint8", "C is a graph_test.stamps", "tag \"prepend\"", "name \"$e\"", "name \"\"")
	wantProblems(t, stateProblems[struct {
		base
		shadow
	}](t), "both the part ID")
	wantProblems(t, stateProblems[struct{ *base }](t), "embedded pointer base")
	wantProblems(t, stateProblems[struct {
		A int
		B int `posthouse:"name=A"`
	}](t), "both the part A")
}

type stamps []time.Time

func (stamps) MarshalJSON() ([]byte, error) { return []byte(`""`), nil }

// Fields of embedded structs are parts of their own, unless the struct has a
// tag or encodes itself.
func TestEmbeddedStructs(t *testing.T) {
	type Address struct{ Street, City string }
	type state struct {
		base
		Address `posthouse:"name=address"`
		stamp   `posthouse:"-"`
		secret  `posthouse:"-"`
		N       int
	}
	g := graph.New[state]("embedded")
	g.Node("a", func(_ context.Context, s *state) error {
		s.ID, s.City, s.Kept = "id", "Berlin", 5
		return nil
	})
	g.Node("b", func(_ context.Context, s *state) error { s.N++; return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	l := newLedger(t)
	a := compile(t, g, l, nil)
	out := must.Get(a.Run(t.Context(), "t", state{}))(t)
	c := must.Get(l.Get(t.Context(), out.Checkpoint))(t)
	have := fmt.Sprintf("%d parts, ID %s, address %s, N %s", len(c.State), c.State["ID"].Data, c.State["address"].Data, c.State["N"].Data)
	if have != `3 parts, ID "id", address {"Street":"","City":"Berlin"}, N 1` {
		t.Fatal(have)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t).State; s.ID != "id" || s.City != "Berlin" || s.N != 1 {
		t.Fatalf("state %+v", s)
	}
}

func TestFingerprint(t *testing.T) {
	l := newLedger(t)
	prints := map[string]string{}
	add := func(name string, g *graph.Graph[trail]) {
		p := compile(t, g, l, nil).Fingerprint()
		for other, q := range prints {
			if p == q {
				t.Errorf("%s has the fingerprint of %s", name, other)
			}
		}
		prints[name] = p
	}
	add("one node", line("a"))
	add("another name", line("b"))
	add("two nodes", line("a", "b"))
	add("the other way round", line("b", "a"))
	add("a route", forked())

	// The order of the calls does not count.
	g := graph.New[trail]("line")
	g.Edge("b", graph.End)
	g.Node("b", visit("b"))
	g.Edge("a", "b")
	g.Node("a", visit("a"))
	g.Edge(graph.Start, "a")
	if p := compile(t, g, l, nil).Fingerprint(); p != prints["two nodes"] || len(p) != 12 {
		t.Errorf("fingerprint %q, want %q", p, prints["two nodes"])
	}
	type wide struct {
		trail
		More int
	}
	w := graph.New[wide]("line")
	w.Node("a", func(context.Context, *wide) error { return nil })
	w.Edge(graph.Start, "a")
	w.Edge("a", graph.End)
	if p := compile(t, w, l, nil).Fingerprint(); p == prints["one node"] {
		t.Error("another state type has the same fingerprint")
	}
}
