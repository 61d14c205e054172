package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// full is a store with a disk that is full at the n-th append, from 1.
type full struct {
	posthouse.Store
	at int64
	n  atomic.Int64
}

func (s *full) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.n.Add(1) == s.at {
		return &posthouse.Error{Code: posthouse.CodeFull, Message: "no space left"}
	}
	return s.Store.Append(ctx, b)
}

// A failed save stops the run, wherever it happens, also if the node swallows
// the error of its step; after the repair the thread goes on from what was
// acknowledged, and recorded steps are not done again.
func TestFailedSaves(t *testing.T) {
	for at := int64(1); ; at++ {
		store := &full{Store: memstore.New(), at: at}
		charged := map[string]int{}
		g := graph.New[trail]("saves")
		for _, name := range []string{"a", "b"} {
			g.Node(name, func(ctx context.Context, s *trail) error {
				n, err := do(ctx, "charge", func() (int, error) { charged[name]++; return charged[name], nil })
				if err == nil {
					charged[name+" recorded"] = n
				}
				s.Nodes = append(s.Nodes, name) // goes on in spite of the error
				return nil
			})
		}
		g.Edge(graph.Start, "a")
		g.Edge("a", "b")
		g.Edge("b", graph.End)
		a := compile(t, g, open(t, store, nil), nil)
		out, err := a.Run(t.Context(), "t", trail{N: 1})
		if err == nil {
			if at != 6 {
				t.Fatalf("%d appends in a run, want 5: the input, two nodes, two steps", at-1)
			}
			return
		}
		must.Fail(t, err, posthouse.ErrFull)
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			a := compile(t, g, open(t, store, nil), nil)
			out, err = a.Resume(t.Context(), "t")
			if errors.Is(err, posthouse.ErrNotFound) && at == 1 {
				out, err = a.Run(t.Context(), "t", trail{N: 1})
			}
			if err != nil {
				t.Fatal(err)
			}
			wantList(t, "nodes", out.State.Nodes, "a", "b")
			for _, name := range []string{"a", "b"} {
				// Only the charge without its own record is made again.
				again := at == 2 && name == "a" || at == 4 && name == "b"
				if n := charged[name]; n != 1 && !again || n != 2 && again {
					t.Errorf("%s charged %d times", name, n)
				}
			}
		})
	}
}

// A run that lost its thread to another process is fenced: it stops, and
// writes nothing more.
func TestFencedRun(t *testing.T) {
	store := memstore.New()
	slow := open(t, store, &ledger.Options{Owner: "slow"})
	var fast *graph.App[trail]
	first := true
	g := graph.New[trail]("fenced")
	g.Node("a", visit("a"))
	g.Node("b", func(ctx context.Context, s *trail) error {
		s.Nodes = append(s.Nodes, "b")
		if first {
			first = false
			if _, err := fast.Resume(ctx, "t"); err != nil {
				return err
			}
		}
		return nil
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	// The second process takes the thread over since its owner is gone.
	fast = compile(t, g, open(t, store, &ledger.Options{Owner: "slow"}), nil)
	_, err := compile(t, g, slow, nil).Run(t.Context(), "t", trail{})
	if !errors.Is(err, posthouse.ErrFenced) && !errors.Is(err, posthouse.ErrConflict) {
		t.Fatalf("error %v", err)
	}
	h := history(t, fast, "t")
	wantList(t, "history", kinds(h), "node b", "node a", "input")
}
