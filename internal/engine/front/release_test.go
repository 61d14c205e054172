package front_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A barred store takes no entries of one thread.
type barred struct {
	posthouse.Store
	thread string
}

func (s *barred) Append(ctx context.Context, b *posthouse.Batch) error {
	if b.Thread.Thread == s.thread {
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "barred"}
	}
	return s.Store.Append(ctx, b)
}

// A release stands also where what the thread waited for cannot be cancelled.
func TestReleaseThatStandsIsReturned(t *testing.T) {
	store := &barred{Store: memstore.New()}
	l, err := ledger.Open(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	wait := func(thread string, g posthouse.Gate) posthouse.ID {
		t.Helper()
		c, err := l.Commit(ctx, &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Graph: "g", Status: posthouse.StatusWaiting}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Checkpoint.ID
	}
	wait("called", posthouse.Gate{Name: "ask"})
	head := wait("t1", posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: "called", ExpiresAt: l.Now().Add(time.Hour)})
	store.thread = "called"
	f := &front.Front[int, int, int, posthouse.Checkpoint]{
		Ledger: l, Kind: "graph", Name: "g", Snapshot: func(c *posthouse.Checkpoint) (*posthouse.Checkpoint, error) { return c, nil },
	}
	r, err := f.Release(ctx, "t1", nil)
	if !errors.Is(err, posthouse.ErrTooLarge) || r == nil || r.Version != 1 || r.State.ID != head {
		t.Errorf("released: %+v, %v", r, err)
	}
	if r, err := f.Release(ctx, "t1", nil); r != nil || !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("again: %+v, %v", r, err)
	}
}
