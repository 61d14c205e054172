package trip_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestCommitEntersFewFunctions bounds what a graph enters from the end of one node to the
// beginning of the next, without the encoding of the entry and the store.
func TestCommitEntersFewFunctions(t *testing.T) {
	enters(t, 201, 72, commit, "graph", "internal/engine", "ledger", "internal/commit", "internal/core")
}

// commit runs a graph until its fourth node, or one node further.
func commit(t *testing.T, call bool) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := ledger.Open(memstore.New(), nil)
	check(err)
	type state struct {
		Messages []string `posthouse:"append"`
		Count    int
	}
	g := graph.New[state]("trip")
	before := graph.Start
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} {
		g.Node(name, func(_ context.Context, s *state) error {
			s.Messages = append(s.Messages, name)
			s.Count++
			return nil
		})
		g.Edge(before, name)
		before = name
	}
	g.Edge(before, graph.End)
	app, err := g.Compile(l, nil)
	check(err)
	last := "four"
	if call {
		last = "five"
	}
	_, err = app.Run(t.Context(), "t", state{}, graph.RunOptions{InterruptAfter: []string{last}})
	check(err)
	check(l.Close())
}
