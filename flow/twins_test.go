package flow_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Twins of the origins' tests of what flows cover: Atmosphere's Workflow,
// AgentPassivation, EffectJournal and CoordinationFork. The rest of WorkflowTest
// is in flow_test.go and run_test.go.

// onSQLite calls fn with one process after another on one database file.
func onSQLite(t *testing.T, w *world, fns ...func(l *ledger.Ledger)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, fn := range fns {
		store := must.Get(sqlitestore.Open(t.Context(), path, nil))(t)
		l := must.Get(ledger.Open(store, &ledger.Options{Now: w.clock}))(t)
		fn(l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// WorkflowSqliteResumeTest.workflowResumesAcrossSqliteStoreClose,
// WorkflowTest.freshRunSkipsInitialStateWhenSnapshotExists,
// SqliteEffectJournalTest.durableRoundTripAcrossReopen.
func TestWorkflowResumesAcrossSQLiteClose(t *testing.T) {
	w := newWorld(t)
	f := flow.New("order", func(ctx context.Context, in string) (string, error) {
		out := in
		for _, name := range []string{"a", "b"} {
			v, err := w.do(ctx, name)
			if err != nil {
				return "", err
			}
			out += v
		}
		if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "go on"}); err != nil {
			return "", err
		}
		v, err := w.do(ctx, "c")
		return out + v, err
	})
	onSQLite(t, w, func(l *ledger.Ledger) {
		res, err := must.Get(f.Open(l, nil))(t).Run(t.Context(), "t", "first ", flow.RunOptions{Run: "r"})
		wantStatus(t, res, err, posthouse.StatusWaiting)
		approve(t, l, res.Waiting[0].ID)
	}, func(l *ledger.Ledger) {
		_, err := must.Get(f.Open(l, nil))(t).Run(t.Context(), "t", "another ", flow.RunOptions{Run: "r"})
		if !errors.Is(err, posthouse.ErrExists) {
			t.Fatalf("the run with another input: %v", err)
		}
		res, err := must.Get(f.Open(l, nil))(t).Run(t.Context(), "t", "first ", flow.RunOptions{Run: "r"})
		if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "first a1b1c1" {
			t.Fatal(res.Output)
		}
	})
	w.want("[a b c]")
}

// WorkflowTest.duplicateStepNamesRejected: here each use of a name has a result
// of its own. deleteAllSnapshots: a deleted thread starts over.
func TestWorkflowStepsOfOneName(t *testing.T) {
	w, broken := newWorld(t), true
	fn := func(ctx context.Context, n int) (out string, err error) {
		for range n {
			v, err := w.do(ctx, "same")
			if err != nil {
				return "", err
			}
			out += v
		}
		if broken {
			return "", errBoom
		}
		return out, nil
	}
	l := w.ledger()
	a := must.Get(flow.New("order", fn).Open(l, nil))(t)
	_, err := a.Run(t.Context(), "t", 3)
	must.Fail(t, err, errBoom)
	broken = false
	if res := must.Get(a.Resume(t.Context(), "t"))(t); res.Output != "same1same2same3" {
		t.Fatal(res.Output)
	}
	if _, err := retain.DeleteThread(t.Context(), l, "t", nil); err != nil {
		t.Fatal(err)
	}
	_, err = a.State(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrNotFound)
	if res := must.Get(a.Run(t.Context(), "t", 1))(t); res.Output != "same4" {
		t.Fatal(res.Output)
	}
}

// AgentPassivationTest: a conversation that waits is not in memory; with a signal
// it goes on with the signal's value merged over its own; until then it waits; an
// unknown one is an error; ids are unique.
func TestPassivation(t *testing.T) {
	type talk struct{ History []string }
	w, ctx := newWorld(t), t.Context()
	fn := func(ctx context.Context, prompt string) (talk, error) {
		said := talk{History: []string{prompt}}
		for len(said.History) < 5 {
			reply, err := w.do(ctx, "model")
			if err != nil {
				return said, err
			}
			heard, err := step.Signal[string](ctx, "user", step.SignalOptions{})
			if err != nil {
				return said, err
			}
			said.History = append(said.History, reply, heard)
		}
		return said, nil
	}
	res, err := app(w, fn, nil).Run(ctx, "t", "hello")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	first := res.Waiting[0].ID
	res, err = app(w, fn, nil).Resume(ctx, "t")
	if wantStatus(t, res, err, posthouse.StatusWaiting); res.Waiting[0].ID != first {
		t.Fatal("without a signal it waits anew")
	}
	for i, word := range []string{"more", "bye"} {
		if _, err := w.ledger().Signal(ctx, "t", posthouse.Signal{Name: "user", Value: []byte(`"` + word + `"`)}); err != nil {
			t.Fatal(err)
		}
		res, err = app(w, fn, nil).Resume(ctx, "t")
		if i == 0 {
			wantStatus(t, res, err, posthouse.StatusWaiting)
			if res.Waiting[0].ID == first {
				t.Fatal("two waits have one id")
			}
		}
	}
	wantStatus(t, res, err, posthouse.StatusDone)
	if got := fmt.Sprint(res.Output.History); got != "[hello model1 more model2 bye]" {
		t.Fatal(got)
	}
	w.want("[model model]")
	_, err = app(w, fn, nil).Resume(ctx, "missing")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// SqliteEffectJournalTest.maxEffectsPerRunOverflowFailsRatherThanDrops: there is
// no such limit, and nothing is dropped.
func TestEffectsBeyondTheOriginsLimit(t *testing.T) {
	const n = 2500 // 2,000 in the origin
	w, broken := newWorld(t), true
	f := flow.New("order", func(ctx context.Context, _ int) (sum int, err error) {
		for i := range n {
			v, err := step.Do(ctx, "effect", func(context.Context) (int, error) { w.effect("e"); return i, nil })
			if err != nil {
				return 0, err
			}
			sum += v
		}
		if broken {
			return 0, errBoom
		}
		return sum, nil
	})
	store := memstore.New()
	run := func(do func(*flow.App[int, int]) (*flow.Result[int], error)) (*flow.Result[int], error) {
		return do(must.Get(f.Open(must.Get(ledger.Open(store, nil))(t), nil))(t))
	}
	_, err := run(func(a *flow.App[int, int]) (*flow.Result[int], error) { return a.Run(t.Context(), "t", 1) })
	must.Fail(t, err, errBoom)
	broken = false
	res, err := run(func(a *flow.App[int, int]) (*flow.Result[int], error) { return a.Resume(t.Context(), "t") })
	if wantStatus(t, res, err, posthouse.StatusDone); res.Output != n*(n-1)/2 || w.did["e"] != n {
		t.Fatal(res.Output, w.did["e"])
	}
}

// SqliteEffectJournalTest has "markFailedRefusesToDemoteACommittedEffect": a step's
// result stays, whatever the program does after it.
func TestCommittedEffectIsNeverDemoted(t *testing.T) {
	w := newWorld(t)
	f := flow.New("order", func(ctx context.Context, _ int) (string, error) {
		v, err := step.DoWith(ctx, "pay", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 6, InitialDelay: -1}}, func(context.Context) (string, error) {
			v := w.effect("pay")
			if w.did["pay"] == 1 {
				return "", errBoom
			}
			return v, nil
		})
		if err != nil {
			return "", err
		}
		return v, errBoom
	})
	again := func(l *ledger.Ledger) {
		_, err := must.Get(f.Open(l, nil))(t).Resume(t.Context(), "t")
		must.Fail(t, err, errBoom)
	}
	onSQLite(t, w, func(l *ledger.Ledger) {
		_, err := must.Get(f.Open(l, nil))(t).Run(t.Context(), "t", 1)
		must.Fail(t, err, errBoom)
		again(l)
	}, again, again)
	w.want("[pay pay]")
}

// SqliteEffectJournalTest.leaseIsSingleWriterAndExpires: of two processes one
// runs the thread, and the other takes over once the first shows no life; what
// the first still does is not put on record.
func TestOneProcessRunsAThread(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	started, release := make(chan struct{}), make(chan struct{})
	first := true
	f := flow.New("order", func(ctx context.Context, _ int) (string, error) {
		if _, err := w.do(ctx, "a"); err != nil {
			return "", err
		}
		if first {
			first = false
			close(started)
			<-release
		}
		return w.do(ctx, "b")
	})
	open := func(owner string) *flow.App[int, string] {
		l := must.Get(ledger.Open(w.store, &ledger.Options{Now: w.clock, Owner: owner, LeaseTTL: time.Second}))(t)
		return must.Get(f.Open(l, nil))(t)
	}
	one, two := open("one"), open("two")
	ended := make(chan error)
	go func() { _, err := one.Run(ctx, "t", 1); ended <- err }()
	<-started
	_, err := two.Resume(ctx, "t")
	must.Fail(t, err, posthouse.ErrBusy)
	w.advance(2 * time.Second)
	res, err := two.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	close(release)
	must.Fail(t, <-ended, posthouse.ErrFenced)
	if res := must.Get(two.Result(ctx, "t"))(t); res.Output != "b1" || w.did["a"] != 1 {
		t.Fatalf("%+v, did %v", res, w.log)
	}
}

// CoordinationForkTest: a fork has a thread of its own and a link to where it
// came from; an unknown source is refused, so is a thread that is there.
func TestCoordinationFork(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	a := must.Get(flow.New("order", order(w)).Open(l, nil))(t)
	res := must.Get(a.Run(ctx, "t", "book", flow.RunOptions{Coordination: "shop"}))(t)
	f := must.Get(a.Fork(ctx, res.Checkpoint, nil, flow.ForkOptions{Thread: "t2"}))(t)
	if f.Thread != "t2" || f.Coordination != "shop" || f.Parent != "" || f.Source.Thread != "t" || f.Source.ID != res.Checkpoint {
		t.Fatalf("f.Header %+v", f.Header)
	}
	if got := steps(t, a, "t2"); got != "fork " {
		t.Fatal(got)
	}
	_, err := a.Fork(ctx, "nobody", nil)
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = a.Fork(ctx, res.Checkpoint, nil, flow.ForkOptions{Thread: "t2"})
	must.Fail(t, err, posthouse.ErrExists)
	waiting := must.Get(a.Result(ctx, "t2"))(t).Waiting
	if len(waiting) != 1 {
		t.Fatalf("waiting %+v", waiting)
	}
	approve(t, l, waiting[0].ID)
	if res := must.Get(a.Resume(ctx, "t2"))(t); res.Output != "book charge1 ship1" {
		t.Fatal(res.Output)
	}
	w.want("[charge ship]")
}
