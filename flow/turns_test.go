package flow_test

import (
	"context"
	"iter"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A readCounter counts the entries that are read of logs.
type readCounter struct {
	posthouse.Store
	n int
}

func (c *readCounter) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range c.Store.Read(ctx, thread, r) {
			c.n++
			if !yield(e, err) {
				return
			}
		}
	}
}

func mallocs() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Mallocs)
}

// A turnCost is what the next turn of a conversation took.
type turnCost struct{ entries, allocations, replaying int }

// A conversation that one execution holds waits for a signal and answers it, turn after turn. The next
// turn reads as much of the log after 475 turns as after 50, and allocates as much, beside what the
// function itself does as it is executed again: that is bounded for each earlier turn.
func TestTurnsAfterManyTurns(t *testing.T) {
	t.Run("memory", func(t *testing.T) { compareTurns(t, memstore.New()) })
	t.Run("sqlite", func(t *testing.T) {
		store := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), &sqlitestore.Options{Sync: sqlitestore.SyncNormal}))(t)
		defer store.Close()
		compareTurns(t, store)
	})
}

func compareTurns(t *testing.T, raw posthouse.Store) {
	store := &readCounter{Store: raw}
	l := must.Get(ledger.Open(store, nil))(t)
	done, began, replaying := 0, 0, 0
	measured := func(n int) bool { return n == 50 || n == 475 }
	f := flow.New("talk", func(ctx context.Context, _ int) (int, error) {
		if measured(done) {
			began = mallocs()
		}
		for n := 0; ; n++ {
			if n == done && measured(n) {
				replaying = mallocs() - began
			}
			text, err := step.Signal[string](ctx, "say", step.SignalOptions{})
			if err != nil {
				return n, err
			}
			if _, err := step.Do(ctx, "answer", func(context.Context) (string, error) { return "you said " + text, nil }); err != nil {
				return n, err
			}
			done = max(done, n+1)
		}
	})
	a := must.Get(f.Open(l, nil))(t)
	must.Get(a.Run(t.Context(), "t", 1))(t)
	turn := func() (c turnCost) {
		must.Get(l.Signal(t.Context(), "t", posthouse.Signal{Name: "say", Value: []byte(`"hello"`), By: "alice"}))(t)
		n := store.n
		if !measured(done) {
			must.Get(a.Resume(t.Context(), "t"))(t)
			return c
		}
		before := mallocs()
		must.Get(a.Resume(t.Context(), "t"))(t)
		return turnCost{store.n - n, mallocs() - before - replaying, replaying}
	}
	var early, late turnCost
	for done <= 475 {
		if n := done; n == 50 {
			early = turn()
		} else {
			late = turn()
		}
	}
	t.Logf("after 50 turns %+v, after 475 %+v", early, late)
	if late.entries > 2*early.entries || late.allocations > 2*early.allocations {
		t.Errorf("the next turn takes %+v after 50 turns and %+v after 475: more than twice as much", early, late)
	}
	if each := (late.replaying - early.replaying) / 425; each > 15 {
		t.Errorf("a function that is executed again allocates %d times for each turn on record, want 15 at most", each)
	}
}
