package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/store/memstore"
)

var errBarred = &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "it is barred"}

// A barred store refuses to write a thread.
type barred struct {
	posthouse.Store
	thread string
}

func (s *barred) Append(ctx context.Context, b *posthouse.Batch) error {
	if b.Thread.Thread == s.thread {
		return errBarred
	}
	return s.Store.Append(ctx, b)
}

// A thread of a subgraph that waits, and that whoever cancelled or deleted the
// caller did not come to cancel, is cancelled by the next sweep; others are left
// alone, also where somebody else goes on with a thread that was called once.
func TestSweepCancelsWhatNobodyComesBackFor(t *testing.T) {
	ctx := t.Context()
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	for name, leave := range map[string]func(*posthouse.Ledger) error{
		"cancel":  func(l *posthouse.Ledger) error { _, err := l.Cancel(ctx, "t", nil); return err },
		"delete":  func(l *posthouse.Ledger) error { _, err := l.DeleteThread(ctx, "t", nil); return err },
		"release": func(l *posthouse.Ledger) error { _, err := l.Release(ctx, "t", nil); return err },
		"stay":    func(*posthouse.Ledger) error { return errBarred },
		"by hand": func(l *posthouse.Ledger) error {
			child := l.Store().(*barred).thread
			l.Store().(*barred).thread = ""
			sub := compile(t, asks, l, nil)
			must(l.Cancel(ctx, "t", nil))(t)
			must(sub.Update(ctx, child, nil, graph.UpdateOptions{Goto: "asks"}))(t)
			must(sub.Resume(ctx, child))(t)
			return errBarred
		},
	} {
		store := &barred{Store: memstore.New()}
		l := open(t, store, nil)
		app := owning(t, l, map[string]*graph.Graph[innerState]{"asks": asks})
		out := must(app.Run(ctx, "t", outerState{}))(t)
		child := must(graph.ThreadWithin(ctx, l, out.Checkpoint, "asks"))(t)
		store.thread = child
		if err := leave(l); !errors.Is(err, errBarred) {
			t.Fatalf("%s: %v", name, err)
		}
		sweeper := app.Programs()[1].(interface{ Sweep(context.Context) error })
		if name == "cancel" || name == "delete" || name == "release" {
			if err := sweeper.Sweep(ctx); !errors.Is(err, errBarred) {
				t.Errorf("%s: a sweep that failed: %v", name, err)
			}
			wantList(t, name, statuses(t, l, child), "waiting")
		}
		store.thread = ""
		for range 2 {
			if err := sweeper.Sweep(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		want := "cancelled"
		if name == "stay" || name == "by hand" {
			want = "waiting"
		}
		wantList(t, name, statuses(t, l, child), want)
	}
}

func statuses(t *testing.T, l *posthouse.Ledger, thread string) []string {
	t.Helper()
	return []string{string(must(l.Thread(t.Context(), thread))(t).Status)}
}
