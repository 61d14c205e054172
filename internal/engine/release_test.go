package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A request to cancel that came just before the run released its thread is not
// for whoever uses the name next.
func TestCancelDoesNotReachBeyondARelease(t *testing.T) {
	l, ctx := open(t, memstore.New(), nil), t.Context()
	s := begin(t, l, "t1")
	input(t, s)
	commit(t, s, posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed}, ledger.Draft{})
	if _, err := l.Cancel(ctx, "t1", nil); err != nil {
		t.Fatal(err)
	}
	r, err := s.Release(ctx, &ledger.ReleaseOptions{Failed: true})
	if err != nil || r == nil || r.Version != 1 || !s.Asked() {
		t.Fatal(r, s.Asked(), err)
	}
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	next := begin(t, l, "t1")
	input(t, next)
	if err := next.End(ctx); err != nil {
		t.Fatal(err)
	}
	if h, err := s.CancelLate(ctx); h != nil || err != nil {
		t.Error(h, err)
	}
	if info, err := l.Thread(ctx, "t1"); err != nil || info.Branches[0].Status != posthouse.StatusRunning {
		t.Errorf("the next run was cancelled: %+v, %v", info, err)
	}
}

// While another branch is not over nothing is released.
func TestReleaseNeedsTheOtherBranchesOver(t *testing.T) {
	l, ctx := open(t, memstore.New(), nil), t.Context()
	s := begin(t, l, "t1")
	input(t, s)
	end := func() {
		t.Helper()
		if err := s.End(ctx); err != nil {
			t.Fatal(err)
		}
	}
	end()
	if _, err := l.Fork(ctx, s.Head().ID, &ledger.ForkOptions{Branch: "other"}); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	commit(t, s, posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}, ledger.Draft{})
	if r, err := s.Release(ctx, &ledger.ReleaseOptions{}); r != nil || err != nil {
		t.Fatal("released with an open branch", r, err)
	}
	end()
	if _, err := l.Cancel(ctx, "t1", &ledger.CancelOptions{Branch: "other"}); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	if r, err := s.Release(ctx, &ledger.ReleaseOptions{}); r == nil || err != nil {
		t.Fatal(r, err)
	}
	end()
}

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
	l, ctx := open(t, store, nil), t.Context()
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
	f := &engine.Front[int, int, int, posthouse.Checkpoint]{
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
