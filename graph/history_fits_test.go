package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A history goes on after a checkpoint that does not fit the type of today, and names it.
func TestHistoryGoesOnAfterAMismatch(t *testing.T) {
	type before struct{ N string }
	type today struct{ N int }
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	old := graph.New[before]("count")
	old.Node("n", func(_ context.Context, s *before) error { s.N = "text"; return nil })
	old.Edge(graph.Start, "n")
	old.Edge("n", graph.End)
	was, err := old.Compile(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := was.Run(t.Context(), "t", before{N: "some"}); err != nil {
		t.Fatal(err)
	}
	head, err := l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	next := head.Derive(posthouse.State{"N": {Codec: "json", Data: []byte("7")}})
	next.Graph, next.Node, next.Status = "count", "n", posthouse.StatusDone
	if _, err := l.Save(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	g := graph.New[today]("count")
	g.Node("n", func(context.Context, *today) error { return nil })
	g.Edge(graph.Start, "n")
	g.Edge("n", graph.End)
	app, err := g.Compile(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	var fit, unfit int
	for s, err := range app.History(t.Context(), "t", graph.HistoryOptions{Oldest: true}) {
		if err == nil {
			if fit++; s.State.N != 7 {
				t.Errorf("the state is %+v", s.State)
			}
			continue
		}
		var e *posthouse.Error
		if unfit++; s != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), "checkpoint ") {
			t.Errorf("%v, %v", s, err)
		}
	}
	if fit != 1 || unfit < 2 {
		t.Errorf("%d checkpoints fit and %d do not", fit, unfit)
	}
}
