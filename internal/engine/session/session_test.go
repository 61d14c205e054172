package session_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func begin(t *testing.T, l *ledger.Ledger, thread string) *session.Session {
	t.Helper()
	s, err := session.Begin(t.Context(), l, session.Options{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func commit(t *testing.T, s *session.Session, c posthouse.Change) {
	t.Helper()
	if _, err := s.Commit(t.Context(), &ledger.Draft{Checkpoint: &c}); err != nil {
		t.Fatal(err)
	}
}

// input starts a thread: the checkpoint that the first node follows.
func input(t *testing.T, s *session.Session) {
	t.Helper()
	commit(t, s, posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"work"}})
}

func end(t *testing.T, s *session.Session) {
	t.Helper()
	if err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOneSessionAThread(t *testing.T) {
	ctx := t.Context()
	l := open(t)
	s := begin(t, l, "t1")
	_, err := session.Begin(ctx, l, session.Options{Thread: "t1"})
	var e *posthouse.Error
	if !errors.Is(err, posthouse.ErrBusy) || !errors.As(err, &e) || e.Lease.Run != s.Run() {
		t.Fatal(err)
	}
	if _, err := session.Begin(ctx, l, session.Options{Thread: "no such\nname"}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.End(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(ctx, &ledger.Draft{}); !errors.Is(err, posthouse.ErrClosed) {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	if s.Branch() != posthouse.MainBranch || s.Thread() != "t1" || s.Ledger() != l || s.Head() != nil {
		t.Fatal("a new thread has no head")
	}
}

// TestFinishCancelled: the run hears of it, stops, and has the last word.
func TestFinishCancelled(t *testing.T) {
	ctx := t.Context()
	l := open(t)
	s := begin(t, l, "t1")
	if h, err := s.Cancellation().Finish(ctx); h != nil || err != nil {
		t.Fatal("a run without a record:", h, err)
	}
	input(t, s)
	inner, free := s.Cancellation().Context(ctx)
	defer free()
	if _, err := l.Cancel(ctx, "t1", &ledger.CancelOptions{Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	<-inner.Done()
	if !s.Cancellation().Asked() || !errors.Is(context.Cause(inner), posthouse.ErrCancelled) {
		t.Fatalf("asked %t, cause %v, want ErrCancelled", s.Cancellation().Asked(), context.Cause(inner))
	}
	_, err := s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	if !errors.Is(err, posthouse.ErrCancelled) {
		t.Fatalf("Commit: error %v, want ErrCancelled", err)
	}
	h, err := s.Cancellation().Finish(ctx)
	if err != nil || h.Status != posthouse.StatusCancelled || h.Error != "enough" {
		t.Fatal(h, err)
	}
	_, err = s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	if !errors.Is(err, posthouse.ErrCancelled) {
		t.Fatalf("Commit: error %v, want ErrCancelled", err)
	}
	if again, err := s.Cancellation().Finish(ctx); err != nil || again.ID != h.ID {
		t.Fatalf("again %v, error %v", again, err)
	}
	end(t, s)
}

// A request to cancel that came just before the run released its thread is not
// for whoever uses the name next.
func TestCancelDoesNotReachBeyondARelease(t *testing.T) {
	l, ctx := open(t), t.Context()
	s := begin(t, l, "t1")
	input(t, s)
	commit(t, s, posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed})
	if _, err := l.Cancel(ctx, "t1", nil); err != nil {
		t.Fatal(err)
	}
	r, err := s.Release(ctx, &ledger.ReleaseOptions{Failed: true})
	if err != nil || r == nil || r.Version != 1 || !s.Cancellation().Asked() {
		t.Fatal(r, s.Cancellation().Asked(), err)
	}
	end(t, s)
	next := begin(t, l, "t1")
	input(t, next)
	end(t, next)
	if h, err := s.Cancellation().FinishLate(ctx); h != nil || err != nil {
		t.Error(h, err)
	}
	if info, err := l.Thread(ctx, "t1"); err != nil || info.Branches[0].Status != posthouse.StatusRunning {
		t.Errorf("the next run was cancelled: %+v, %v", info, err)
	}
}

// While another branch is not over nothing is released.
func TestReleaseNeedsTheOtherBranchesOver(t *testing.T) {
	l, ctx := open(t), t.Context()
	s := begin(t, l, "t1")
	input(t, s)
	end(t, s)
	if _, err := l.Fork(ctx, s.Head().ID, &ledger.ForkOptions{Branch: "other"}); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	commit(t, s, posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone})
	if r, err := s.Release(ctx, &ledger.ReleaseOptions{}); r != nil || err != nil {
		t.Fatal("released with an open branch", r, err)
	}
	end(t, s)
	if _, err := l.Cancel(ctx, "t1", &ledger.CancelOptions{Branch: "other"}); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	if r, err := s.Release(ctx, &ledger.ReleaseOptions{}); r == nil || err != nil {
		t.Fatal(r, err)
	}
	end(t, s)
}

// TestRunContextEnds when the branch is cancelled, by whatever way, and with
// the run.
func TestRunContextEnds(t *testing.T) {
	l := open(t)
	s := begin(t, l, "t1")
	input(t, s)
	ctx, free := s.Cancellation().Context(t.Context())
	free()
	if session.IsCancelled(ctx) || ctx.Err() == nil {
		t.Error("after the run:", context.Cause(ctx))
	}
	ctx, free = s.Cancellation().Context(t.Context())
	defer free()
	if _, err := l.Cancel(t.Context(), "t1", nil); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if !session.IsCancelled(ctx) {
		t.Error(context.Cause(ctx))
	}
}
