package graph_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// onStores runs a test on memory and on SQLite.
func onStores(t *testing.T, test func(t *testing.T, store posthouse.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memstore.New()) })
	t.Run("sqlite", func(t *testing.T) {
		s := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), nil))(t)
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
}

// An update of a checkpoint of a released version is refused for that reason,
// whether or not the thread has started over, and whatever the branch is called.
func TestUpdateOfAReleasedCheckpointIsRefused(t *testing.T) {
	onStores(t, func(t *testing.T, store posthouse.Store) {
		a := compile(t, counting(2), open(t, store, nil), nil)
		old := must.Get(a.Run(t.Context(), "t", counter{Note: "one"}))(t)
		must.Get(a.Release(t.Context(), "t", nil))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where it never ended
		defer cancel()
		step := [][]graph.NodeUpdate[counter]{{{Node: graph.Start}}}
		for _, begun := range []bool{false, true} {
			if begun {
				must.Get(a.Run(ctx, "t", counter{Note: "two"}))(t)
			}
			for _, name := range []string{"", "mine"} {
				for _, as := range []string{"", "agent_1"} {
					_, err := a.Update(ctx, "t", nil, graph.UpdateOptions{Checkpoint: old.Checkpoint, NewBranch: name, AsNode: as})
					wantReleased(t, err)
				}
				_, err := a.BulkUpdate(ctx, "t", step, graph.UpdateOptions{Checkpoint: old.Checkpoint, NewBranch: name})
				wantReleased(t, err)
			}
		}
		f := must.Get(a.Fork(ctx, old.Checkpoint, func(s *counter) { s.Note = "forked" }))(t) // as the hint says
		if f.State.Note != "forked" || f.Branch == posthouse.MainBranch {
			t.Fatalf("fork %+v", f)
		}
	})
}

func wantReleased(t *testing.T, err error) {
	t.Helper()
	must.Fail(t, err, posthouse.ErrConflict)
	var e *posthouse.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "released version") || !strings.Contains(e.Hint, "fork it") {
		t.Fatalf("error %v", err)
	}
}

// A branch that begins at a checkpoint takes the next free name, and says so
// where a given one is taken.
func TestUpdatesTakeFreeBranches(t *testing.T) {
	a := compile(t, counting(2), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", counter{}))(t)
	first := history(t, a, "t")[1]
	for _, want := range []string{"update-1", "update-2"} {
		if s := must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Checkpoint: first.ID}))(t); s.Branch != want {
			t.Fatalf("branch %q, want %q", s.Branch, want)
		}
	}
	_, err := a.Update(t.Context(), "t", nil, graph.UpdateOptions{Checkpoint: first.ID, NewBranch: "update-1"})
	must.Fail(t, err, posthouse.ErrExists)
}

// A stubborn store refuses each append with a conflict, though nothing stands
// against it.
type stubborn struct {
	posthouse.Store
	refuse bool
}

func (s *stubborn) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.refuse {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "no"}
	}
	return s.Store.Append(ctx, b)
}

// An update does not try for ever where a conflict does not go away.
func TestUpdateGivesUpOnALastingConflict(t *testing.T) {
	s := &stubborn{Store: memstore.New()}
	a := compile(t, counting(2), open(t, s, nil), nil)
	must.Get(a.Run(t.Context(), "t", counter{}))(t)
	first := history(t, a, "t")[1]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.refuse = true
	for _, name := range []string{"", "mine"} {
		_, err := a.Update(ctx, "t", nil, graph.UpdateOptions{Checkpoint: first.ID, NewBranch: name})
		must.Fail(t, err, posthouse.ErrConflict)
	}
}
