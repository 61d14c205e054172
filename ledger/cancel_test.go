package ledger_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

func (b *bench) cancel(l *ledger.Ledger, reason string) *posthouse.Header {
	b.Helper()
	return must.Get(l.Cancel(b.Context(), "t", &ledger.CancelOptions{By: "alice", Reason: reason}))(b)
}

// TestCancelEndsAParkedThread and withdraws its questions; again is a no-op.
func TestCancelEndsAParkedThread(t *testing.T) {
	b := newBench(t)
	c := b.wait("", nil, "go")
	h := b.cancel(b.b, "no longer needed")
	if h.Kind != posthouse.KindCancel || h.Status != posthouse.StatusCancelled || h.Parent != c.Checkpoint.ID || h.Step != c.Checkpoint.Step ||
		h.Error != "no longer needed" || h.By != "alice" {
		t.Errorf("the last checkpoint is %+v", h)
	}
	if g := must.Get(b.a.Gate(t.Context(), c.Gates[0].ID))(t); g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("the gate is %+v", g.Decision)
	}
	if again := b.cancel(b.a, "again"); again.ID != h.ID || again.Error != h.Error {
		t.Errorf("cancelled again: %+v", again)
	}
	b.status(posthouse.StatusCancelled)
}

// TestCancelOfAHead changes nothing where the branch has gone on since, or is gone.
func TestCancelOfAHead(t *testing.T) {
	b := newBench(t)
	seen := b.wait("", nil, "go").Checkpoint.ID
	head := b.wait("", nil, "again").Checkpoint.ID
	var e *posthouse.Error
	if _, err := b.b.Cancel(t.Context(), "t", &ledger.CancelOptions{Head: seen}); !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Head != head {
		t.Errorf("%v", err)
	}
	if _, err := b.b.Cancel(t.Context(), "t", &ledger.CancelOptions{Branch: "nowhere", Head: seen}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("%v", err)
	}
	b.status(posthouse.StatusWaiting)
	if h, err := b.b.Cancel(t.Context(), "t", &ledger.CancelOptions{Head: head}); err != nil || h.Status != posthouse.StatusCancelled {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestCancelOfADoneOrUnknownThread: it changes nothing.
func TestCancelOfADoneOrUnknownThread(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	if _, err := b.a.Cancel(ctx, "t", nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("an unknown thread: %v", err)
	}
	c := must.Get(b.a.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}}))(t)
	if h := b.cancel(b.b, ""); h.ID != c.Checkpoint.ID || h.Status != posthouse.StatusDone {
		t.Errorf("a done thread: %+v", h)
	}
	if _, err := b.a.Cancel(ctx, "t", &ledger.CancelOptions{Branch: "nowhere"}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("an unknown branch: %v", err)
	}
	for _, o := range []ledger.CancelOptions{{Branch: "a\nb"}, {By: "\n"}, {Reason: strings.Repeat("x", 4001)}, {Reason: "\xff"}} {
		if _, err := b.a.Cancel(ctx, "t", &o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestCancelReachesTheRun: in this process at once, in another at its next
// commit; the run's last word is the cancelled checkpoint.
func TestCancelReachesTheRun(t *testing.T) {
	for _, c := range []struct {
		name string
		by   func(*bench) *ledger.Ledger
	}{
		{"of this process", func(b *bench) *ledger.Ledger { return b.a }},
		{"of another", func(b *bench) *ledger.Ledger { return b.b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			ctx := t.Context()
			if err := b.a.Core().Heartbeat(ctx); err != nil {
				t.Fatal(err)
			}
			claim := must.Get(b.a.Claim(ctx, "t", "r"))(t)
			draft := func(s posthouse.Status) *ledger.Draft {
				return &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: s, Next: []string{"n"}}}
			}
			must.Get(b.a.Commit(ctx, draft(posthouse.StatusRunning)))(t)
			head := b.cancel(c.by(b), "stop")
			if head.Status != posthouse.StatusRunning {
				t.Errorf("the head is %+v", head)
			}
			if again := b.cancel(c.by(b), "stop!"); again.Seq != head.Seq {
				t.Errorf("asked again: %+v", again)
			}
			if c.by(b) == b.a {
				<-claim.Cancelled("")
			}
			for _, s := range []posthouse.Status{posthouse.StatusRunning, posthouse.StatusDone} {
				if _, err := b.a.Commit(ctx, draft(s)); !errors.Is(err, posthouse.ErrCancelled) {
					t.Fatalf("committing %q: %v, want ErrCancelled", s, err)
				}
			}
			<-claim.Cancelled("")
			h := must.Get(b.a.Cancel(ctx, "t", &ledger.CancelOptions{Claim: claim}))(t)
			if h.Status != posthouse.StatusCancelled || h.Error != "stop" || h.By != "alice" || h.Next[0] != "n" {
				t.Errorf("ended with %+v", h)
			}
			if info := must.Get(b.b.Thread(ctx, "t"))(t); info.Lease.Held || len(info.Cancelling) > 0 {
				t.Errorf("the thread is %+v", info)
			}
		})
	}
}

// TestCancelOrDone: of a run that finishes and somebody who cancels, the first
// on record stands.
func TestCancelOrDone(t *testing.T) {
	won := map[posthouse.Status]int{}
	for range 60 {
		b := newBench(t)
		ctx := t.Context()
		claim := must.Get(b.a.Claim(ctx, "t", "r"))(t)
		draft := func(s posthouse.Status) *ledger.Draft {
			return &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: s}}
		}
		must.Get(b.a.Commit(ctx, draft(posthouse.StatusRunning)))(t)
		var wg sync.WaitGroup
		var err error
		wg.Go(func() { _, err = b.a.Commit(ctx, draft(posthouse.StatusDone)) })
		wg.Go(func() { b.cancel(b.b, "stop") })
		wg.Wait()
		want := posthouse.StatusDone
		if err != nil {
			want = posthouse.StatusCancelled
			if !errors.Is(err, posthouse.ErrCancelled) {
				t.Fatal(err)
			}
			must.Get(b.a.Cancel(ctx, "t", &ledger.CancelOptions{Claim: claim}))(t)
		}
		b.status(want)
		won[want]++
	}
	t.Log(won)
}

// TestCancelBeforeAnythingIsRecorded tells the run and leaves no trace.
func TestCancelBeforeAnythingIsRecorded(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	claim := must.Get(b.a.Claim(ctx, "t", "r"))(t)
	if h := b.cancel(b.a, "stop"); h.ID != "" || h.Status != posthouse.StatusCancelled {
		t.Errorf("the header is %+v", h)
	}
	<-claim.Cancelled("main")
	_, err := b.a.Commit(ctx, &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	if !errors.Is(err, posthouse.ErrCancelled) {
		t.Errorf("committing: %v, want ErrCancelled", err)
	}
	if _, err := b.a.Thread(ctx, "t"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the thread is there: %v", err)
	}
}

// TestCancelAfterTheRunWasLost: the request stands until somebody follows it.
func TestCancelAfterTheRunWasLost(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	claim := must.Get(b.a.Claim(ctx, "t", "r"))(t)
	must.Get(b.a.Commit(ctx, &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}}))(t)
	b.cancel(b.a, "stop")
	if err := claim.Release(ctx); err != nil {
		t.Fatal(err)
	}
	next := must.Get(b.a.Claim(ctx, "t", "r2"))(t)
	<-next.Cancelled("")
	if err := next.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if h := b.cancel(b.a, "again"); h.Status != posthouse.StatusCancelled || h.Error != "stop" {
		t.Errorf("ended with %+v", h)
	}
}

// A barred store refuses to write some threads.
type barred struct {
	posthouse.Store
	threads map[string]bool
}

func (s *barred) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.threads[b.Thread.Thread] {
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "barred"}
	}
	return s.Store.Append(ctx, b)
}

// TestOneThreadThatCannotBeCancelled: the others that were waited for are
// cancelled all the same; the error names the one, and another call makes up for
// it.
func TestOneThreadThatCannotBeCancelled(t *testing.T) {
	ctx := t.Context()
	for _, del := range []bool{false, true} {
		store := &barred{Store: memstore.New(), threads: map[string]bool{}}
		l := must.Get(ledger.Open(store, nil))(t)
		t.Cleanup(func() { l.Close() })
		var calls []posthouse.Gate
		for _, thread := range []string{"a", "b", "c"} {
			calls = append(calls, posthouse.Gate{Name: "call " + thread, Kind: posthouse.GateThread, Text: thread, ExpiresAt: l.Now().Add(time.Hour)})
			must.Get(l.Commit(ctx, &ledger.Draft{
				Thread: thread, Gates: []posthouse.Gate{{Name: "ask"}}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
			}))(t)
		}
		must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Gates: calls, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}}))(t)
		statuses := func(want ...posthouse.Status) {
			t.Helper()
			for i, thread := range []string{"a", "b", "c"} {
				if info := must.Get(l.Thread(ctx, thread))(t); info.Status != want[i] {
					t.Errorf("deleted %v: thread %s is %s, want %s", del, thread, info.Status, want[i])
				}
			}
		}
		store.threads["b"] = true
		var err error
		if del {
			_, err = retain.DeleteThread(ctx, l, "t", nil)
		} else {
			_, err = l.Cancel(ctx, "t", nil)
		}
		if !errors.Is(err, posthouse.ErrTooLarge) || !strings.Contains(err.Error(), "thread b") {
			t.Errorf("deleted %v: %v", del, err)
		}
		statuses(posthouse.StatusCancelled, posthouse.StatusWaiting, posthouse.StatusCancelled)
		if delete(store.threads, "b"); del {
			continue
		}
		must.Get(l.Cancel(ctx, "t", nil))(t)
		statuses(posthouse.StatusCancelled, posthouse.StatusCancelled, posthouse.StatusCancelled)
	}
}

// TestOnCancel: a hook is told once, also of a request from before it, of its branch only, and not
// once it was taken back.
func TestOnCancel(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	claim := must.Get(b.a.Claim(ctx, "t", "r"))(t)
	must.Get(b.a.Commit(ctx, &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}}}))(t)
	told := map[string]int{}
	tell := func(name string) func() { return func() { told[name]++ } }
	claim.OnCancel("", tell("main"))
	claim.OnCancel("other", tell("other"))
	unhook := claim.OnCancel(posthouse.MainBranch, tell("gone"))
	unhook()
	unhook()
	b.cancel(b.a, "stop")
	b.cancel(b.a, "stop!")
	claim.OnCancel("", tell("late"))()
	<-claim.Cancelled("")
	if want := map[string]int{"main": 1, "late": 1}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if !claim.IsCancelled("") || claim.IsCancelled("other") {
		t.Errorf("cancelled: main %t, other %t", claim.IsCancelled(""), claim.IsCancelled("other"))
	}
}
