package graph_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

var errBarred = &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "it is barred"}

// A barred store refuses to write a thread.
type barred struct {
	posthouse.Store
	thread string
	scans  int // queries for threads that wait which pass over all others
}

func (s *barred) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if q.Status == posthouse.StatusWaiting && !q.Waiting {
		s.scans++
	}
	return s.Store.Threads(ctx, q)
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
func TestSweepCancelsThreadsOfLostCallers(t *testing.T) {
	ctx := t.Context()
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	for name, leave := range map[string]func(*ledger.Ledger) error{
		"cancel":  func(l *ledger.Ledger) error { _, err := l.Cancel(ctx, "t", nil); return err },
		"delete":  func(l *ledger.Ledger) error { _, err := retain.DeleteThread(ctx, l, "t", nil); return err },
		"release": func(l *ledger.Ledger) error { _, err := l.Release(ctx, "t", nil); return err },
		"stay":    func(*ledger.Ledger) error { return errBarred },
		"by hand": func(l *ledger.Ledger) error {
			child := l.Store().(*barred).thread
			l.Store().(*barred).thread = ""
			sub := compile(t, asks, l, nil)
			must.Get(l.Cancel(ctx, "t", nil))(t)
			must.Get(sub.Update(ctx, child, nil, graph.UpdateOptions{Goto: "asks"}))(t)
			must.Get(sub.Resume(ctx, child))(t)
			return errBarred
		},
	} {
		store := &barred{Store: memstore.New()}
		l := open(t, store, nil)
		app := owning(t, l, map[string]*graph.Graph[innerState]{"asks": asks})
		out := must.Get(app.Run(ctx, "t", outerState{}))(t)
		child := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "asks"))(t)
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
		if store.scans > 0 {
			t.Errorf("%s: %d sweeps went through all threads", name, store.scans)
		}
	}
}

// A fork and a copy of the thread of a subgraph, and one that came without its
// caller, are whoever's made them: they wait on when the caller is cancelled,
// and go on when they are answered.
func TestSweepLeavesForksAndCopiesAlone(t *testing.T) {
	ctx, l := t.Context(), newLedger(t)
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	app := owning(t, l, map[string]*graph.Graph[innerState]{"asks": asks})
	out := must.Get(app.Run(ctx, "t", outerState{}))(t)
	child := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "asks"))(t)
	at := must.Get(l.Latest(ctx, ledger.LatestQuery{Thread: child}))(t)
	must.Get(l.Fork(ctx, at.ID, &ledger.ForkOptions{Thread: "fork"}))(t)
	must.Get(transfer.CopyThread(ctx, l, child, "copy", nil))(t)
	for thread, source := range map[string]*posthouse.Source{"old": nil, "old-fork": {Thread: child, ID: at.ID}} {
		must.Get(l.Commit(ctx, &ledger.Draft{
			Thread: thread, Gates: []posthouse.Gate{{Name: "ok", Task: "1/asks"}},
			Checkpoint: &posthouse.Change{
				Kind: posthouse.KindInput, Status: posthouse.StatusWaiting, Graph: "asks", Next: []string{"asks"}, Source: source,
				Labels: map[string]string{"parent": "t", "call": "1/asks"}, // as it was before there was the label "called"
			},
		}))(t)
	}
	var file bytes.Buffer
	must.Get(transfer.Export(ctx, l, child, &file, nil))(t)
	there := newLedger(t)
	must.Get(transfer.Import(ctx, there, bytes.NewReader(file.Bytes()), nil))(t)

	must.Get(l.Cancel(ctx, "t", nil))(t)
	sweep := func(app *graph.App[outerState]) {
		t.Helper()
		if err := app.Programs()[1].(interface{ Sweep(context.Context) error }).Sweep(ctx); err != nil {
			t.Error(err)
		}
	}
	sweep(app)
	sweep(owning(t, there, map[string]*graph.Graph[innerState]{"asks": asks}))
	wantList(t, "the child without its caller", statuses(t, there, child), "waiting")
	wantList(t, "the child, from before, a fork from before", statuses(t, l, child, "old", "old-fork"), "cancelled", "cancelled", "waiting")
	for _, thread := range []string{"fork", "copy"} {
		wantList(t, thread, statuses(t, l, thread), "waiting")
		for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: thread}) {
			if err != nil {
				t.Fatal(err)
			}
			decide(t, l, g.ID, posthouse.Approve)
		}
		if err := app.Programs()[1].Advance(ctx, thread, posthouse.MainBranch); err != nil {
			t.Error(err)
		}
		wantList(t, thread, statuses(t, l, thread), "done")
	}
}

// A torn store has lost the body of a gate's record.
type torn struct {
	posthouse.Store
	gate posthouse.ID
}

func (s *torn) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil && len(e.Bodies) > 0 {
				recs, _ := e.Records()
				for i := range recs {
					if g := recs[i].Gate; g != nil && g.ID == s.gate {
						e.Bodies = slices.Clone(e.Bodies)
						e.Bodies[i] = bytes.ToUpper(e.Bodies[i])
					}
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A thread tells its caller that it went on, also where a wait of another branch
// of the caller's cannot be read.
func TestWakeBesideAWaitThatCannotBeRead(t *testing.T) {
	ctx, store := t.Context(), &torn{Store: memstore.New()}
	l := open(t, store, nil)
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	app := owning(t, l, map[string]*graph.Graph[innerState]{"asks": asks})
	out := must.Get(app.Run(ctx, "t", outerState{}))(t)
	fork := must.Get(app.Fork(ctx, out.Checkpoint, nil))(t)
	for range 2 { // the first finds that it waits for another's thread
		must.Get(app.Resume(ctx, "t", graph.RunOptions{Branch: fork.Branch}))(t)
	}
	must.Get(app.Update(ctx, "t", nil))(t)
	out = must.Get(app.Resume(ctx, "t"))(t) // its wait is the newer one now
	child := out.Waiting[0].Text
	answerAll(t, l)
	for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: "t", Kind: posthouse.GateThread, Limit: 1}) {
		if err != nil || g.Branch != fork.Branch {
			t.Fatalf("%+v, %v", g, err)
		}
		store.gate = g.ID
	}
	if err := app.Programs()[1].Advance(ctx, child, posthouse.MainBranch); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("nobody is told: %v", err)
	}
	if info := must.Get(l.Thread(ctx, "t"))(t); len(info.Waiting) != 1 || info.Waiting[0].ID != store.gate {
		t.Errorf("the caller waits for %+v", info.Waiting)
	}
}

func statuses(t *testing.T, l *ledger.Ledger, threads ...string) (all []string) {
	t.Helper()
	for _, thread := range threads {
		all = append(all, string(must.Get(l.Thread(t.Context(), thread))(t).Status))
	}
	return all
}
