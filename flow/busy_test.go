package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

func onBusy(b runs.OnBusy) flow.RunOptions { return flow.RunOptions{OnBusy: b} }

func TestEnqueueIsFirstComeFirstServed(t *testing.T) {
	s := newStage(t, owned(t, memstore.New(), "one"))
	var hs []*flow.Handle[string]
	for i := range 6 {
		hs = append(hs, s.start(t, fmt.Sprint(i), onBusy(runs.Enqueue)))
	}
	if err := hs[3].Cancel(t.Context(), "changed my mind"); err != nil {
		t.Fatal(err)
	}
	<-s.runs
	close(s.let)
	wantEnd(t, hs[5], runs.Done, posthouse.StatusDone, "01245")
	if _, err := hs[3].Result(); !errors.Is(err, posthouse.ErrCancelled) || hs[3].Reason() != runs.Cancelled {
		t.Error("cancelled in line:", err, hs[3].Reason())
	}
}

// A wait in line ends with its context, and the next one has its place.
func TestEnqueueGivesUp(t *testing.T) {
	s := newStage(t, owned(t, memstore.New(), "one"))
	first := s.start(t, "1")
	<-s.runs
	ctx, cancel := context.WithCancel(t.Context())
	second := must.Get(s.app.Start(ctx, "t", "2", onBusy(runs.Enqueue)))(t)
	third := s.start(t, "3", onBusy(runs.Enqueue))
	cancel()
	if _, err := second.Result(); !errors.Is(err, context.Canceled) || second.Reason() != runs.Failed {
		t.Error(err)
	}
	close(s.let)
	wantEnd(t, first, runs.Done, posthouse.StatusDone, "1")
	wantEnd(t, third, runs.Done, posthouse.StatusDone, "13")
}

// Recorded steps stay, for the next execution to go on from; so does the input of
// the cancelled run, in the history.
func TestInterrupt(t *testing.T) {
	s := newStage(t, owned(t, memstore.New(), "one"))
	first := s.start(t, "1")
	<-s.runs
	s.let <- struct{}{}
	wantEnd(t, first, runs.Done, posthouse.StatusDone, "1")
	old := s.start(t, "2")
	<-s.runs
	young := s.start(t, "3", onBusy(runs.Interrupt))
	wantEnd(t, old, runs.Cancelled, posthouse.StatusCancelled, "")
	if in := <-s.runs; in != "3" {
		t.Error("runs", in)
	}
	close(s.let)
	wantEnd(t, young, runs.Done, posthouse.StatusDone, "13")
	wantEnd(t, s.start(t, "4", onBusy(runs.Interrupt)), runs.Done, posthouse.StatusDone, "134")
	if got := steps(t, s.app, "t"); got != "input a b node input a cancel input a b node input a b node " {
		t.Error("history", got)
	}
}

// Rolling back goes on from before the input of the cancelled run, be that the
// first of the thread or not. The past stays readable.
func TestRollback(t *testing.T) {
	s := newStage(t, owned(t, memstore.New(), "one"))
	first := s.start(t, "1")
	<-s.runs
	second := s.start(t, "2", onBusy(runs.Rollback))
	wantEnd(t, first, runs.Cancelled, posthouse.StatusCancelled, "")
	<-s.runs
	s.let <- struct{}{}
	base := wantEnd(t, second, runs.Done, posthouse.StatusDone, "2")

	third := s.start(t, "3")
	<-s.runs
	fourth := s.start(t, "4", onBusy(runs.Rollback))
	gone := wantEnd(t, third, runs.Cancelled, posthouse.StatusCancelled, "")
	<-s.runs
	close(s.let)
	last := wantEnd(t, fourth, runs.Done, posthouse.StatusDone, "24")
	var restored *flow.Snapshot[string, string]
	for c, err := range s.app.History(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == posthouse.KindUpdate && restored == nil {
			restored = c
		}
	}
	if restored.Source == nil || restored.Source.ID != base.Checkpoint || restored.Input != "2" || restored.Output != "2" || restored.Run != last.Run {
		t.Errorf("restored by %+v", restored)
	}
	if old := must.Get(s.app.State(t.Context(), "t", flow.StateOptions{Checkpoint: gone.Checkpoint}))(t); old.Input != "3" {
		t.Errorf("the past is %+v", old)
	}
	// Nothing to roll back: the other had ended by itself.
	wantEnd(t, s.start(t, "5", onBusy(runs.Rollback)), runs.Done, posthouse.StatusDone, "245")
}

// A run that waits for another process's run looks again; interrupting asks the
// other, which hears of it with its next commit.
func TestOnBusyAcrossProcesses(t *testing.T) {
	for _, b := range []runs.OnBusy{runs.Enqueue, runs.Interrupt} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			one := newStage(t, owned(t, store, "one"))
			two := newStage(t, owned(t, store, "two"))
			old := one.start(t, "1")
			<-one.runs
			young := two.start(t, "2", onBusy(b))
			time.Sleep(5 * time.Second) // its holder lives: only the lease rules say otherwise
			close(one.let)
			close(two.let)
			if b == runs.Interrupt {
				wantEnd(t, old, runs.Cancelled, posthouse.StatusCancelled, "")
				wantEnd(t, young, runs.Done, posthouse.StatusDone, "2")
			} else {
				wantEnd(t, old, runs.Done, posthouse.StatusDone, "1")
				wantEnd(t, young, runs.Done, posthouse.StatusDone, "12")
			}
		})
	}
}

// TestWaitForAThread: a waiting call gets a thread that becomes free in time; otherwise it fails
// and names who has it.
func TestWaitForAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		one := newStage(t, owned(t, store, "one"))
		two := newStage(t, owned(t, store, "two"))
		old := one.start(t, "1")
		<-one.runs
		for _, b := range []runs.OnBusy{runs.Reject, runs.Enqueue} {
			begun := time.Now()
			_, err := two.app.Run(t.Context(), "t", "2", flow.RunOptions{Wait: 7 * time.Second, OnBusy: b})
			var e *posthouse.Error
			if !errors.As(err, &e) || e.Code != posthouse.CodeBusy || e.Lease == nil || e.Lease.Owner != "one" || time.Since(begun) != 7*time.Second {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
		}
		if _, err := two.app.Run(t.Context(), "t", "2", flow.RunOptions{Wait: -1}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("a negative wait: %v", err)
		}
		close(two.let)
		ended := make(chan error)
		go func() {
			_, err := two.app.Run(t.Context(), "t", "2", flow.RunOptions{Wait: time.Hour})
			ended <- err
		}()
		time.Sleep(time.Minute)
		close(one.let)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		wantEnd(t, old, runs.Done, posthouse.StatusDone, "1")
	})
}

// A request to cancel a run that was lost is not meant for the next one.
func TestNewInputAfterACancelledLostRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		lost := owned(t, store, "lost")
		claim := must.Get(lost.Claim(t.Context(), "t", "lost-run"))(t)
		s := newStage(t, owned(t, store, "two"))
		close(s.let)
		must.Get(lost.Commit(t.Context(), &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: "stage", Next: []string{"stage"},
		}}))(t)
		must.Get(lost.Cancel(t.Context(), "t", nil))(t)
		if err := lost.Close(); err != nil { // its process is gone
			t.Fatal(err)
		}
		res, err := s.app.Run(t.Context(), "t", "2", onBusy(runs.Enqueue))
		if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "2" {
			t.Errorf("result %+v", res)
		}
		if got := steps(t, s.app, "t"); got != "input cancel input a b node " {
			t.Error("history", got)
		}
	})
}

// A run with an id runs once: who starts it again has its result, too.
func TestRunIDStartsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, owned(t, memstore.New(), "one"))
		hs := []*flow.Handle[string]{s.start(t, "1", flow.RunOptions{Run: "once"})}
		<-s.runs
		for _, b := range []runs.OnBusy{runs.Reject, runs.Enqueue, runs.Interrupt, runs.Rollback, runs.Reject} {
			hs = append(hs, s.start(t, "1", flow.RunOptions{Run: "once", OnBusy: b}))
			synctest.Wait()
		}
		s.let <- struct{}{}
		for _, h := range hs {
			if r := wantEnd(t, h, runs.Done, posthouse.StatusDone, "1"); r.Run != "once" {
				t.Error(r.Run)
			}
		}
		if n := s.calls.Load(); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		_, list, err := heard(t, s.app.Stream(t.Context(), "t", "1", flow.RunOptions{Run: "once"}), told)
		if wantTold(t, "events", list, "end stage"); err != nil {
			t.Error(err)
		}
	})
}

// In another process the same id is busy, with who has it; the default tells
// where that one stands.
func TestRunIDElsewhere(t *testing.T) {
	store := memstore.New()
	one, two := newStage(t, owned(t, store, "one")), newStage(t, owned(t, store, "two"))
	h := one.start(t, "1", flow.RunOptions{Run: "r"})
	<-one.runs
	for _, b := range []runs.OnBusy{runs.Reject, runs.Enqueue, runs.Interrupt} {
		res, err := two.app.Run(t.Context(), "t", "1", flow.RunOptions{Run: "r", OnBusy: b})
		wantStatus(t, res, err, posthouse.StatusRunning)
	}
	_, err := two.start(t, "1", flow.RunOptions{Run: "r"}).Result()
	var e *posthouse.Error
	if !errors.Is(err, posthouse.ErrBusy) || !errors.As(err, &e) || e.Lease == nil || e.Lease.Owner != "one" {
		t.Error(err)
	}
	close(one.let)
	wantEnd(t, h, runs.Done, posthouse.StatusDone, "1")
}

func TestOnBusyIsChecked(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(context.Context, int) (int, error) { return 1, nil }, nil)
	_, err := a.Run(t.Context(), "t", 1, onBusy(99))
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.ResumeStart(t.Context(), "t", onBusy(runs.Rollback))
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Start(t.Context(), "t", 1, flow.RunOptions{}, flow.RunOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
}

// Whatever comes at once on a thread: one run at a time, each input on record
// at most once, every run with an end, and the thread free afterwards.
func TestRunsAtOnce(t *testing.T) {
	for seed := range uint64(30) {
		l := owned(t, memstore.New(), "one")
		rnd := rand.New(rand.NewPCG(seed, 1))
		var running atomic.Int32
		a := must.Get(flow.New("busy", func(ctx context.Context, in int) (int, error) {
			if running.Add(1) != 1 {
				t.Error("two at once")
			}
			defer running.Add(-1)
			if _, err := step.Do(ctx, "a", func(ctx context.Context) (int, error) { return in, ctx.Err() }); err != nil {
				return 0, err
			}
			return step.Do(ctx, "b", func(ctx context.Context) (int, error) { return in, ctx.Err() })
		}).Open(l, nil))(t)
		var all sync.WaitGroup
		for i := range 12 {
			o := onBusy(runs.OnBusy(rnd.IntN(4)))
			if rnd.IntN(3) == 0 {
				o.Run = fmt.Sprint("id-", rnd.IntN(2))
			}
			cancel := rnd.IntN(4) == 0
			all.Go(func() {
				h, err := a.Start(t.Context(), "t", i, o)
				if err == nil && cancel {
					err = h.Cancel(t.Context(), "")
				}
				if err == nil {
					_, err = h.Result()
				}
				if o.Run != "" && errors.Is(err, posthouse.ErrExists) {
					err = nil // the run of that id had another input
				}
				if err != nil && !errors.Is(err, posthouse.ErrBusy) && !errors.Is(err, posthouse.ErrCancelled) {
					t.Errorf("seed %d, run %d: %v", seed, i, err)
				}
			})
		}
		all.Wait()
		began := map[string]int{}
		for c, err := range a.History(t.Context(), "t", flow.HistoryOptions{Kind: posthouse.KindInput}) {
			if err != nil {
				t.Fatal(err)
			}
			if began[c.Run]++; began[c.Run] > 1 {
				t.Errorf("seed %d: run %s began %d times", seed, c.Run, began[c.Run])
			}
		}
		if info, err := l.Thread(t.Context(), "t"); err == nil && (info.Lease.Held || info.Runnable()) {
			t.Errorf("seed %d: left behind %+v", seed, info)
		}
	}
}

// A replay that finds its thread busy leaves nothing; one that may wait for the
// other run does.
func TestReplayOfABusyThread(t *testing.T) {
	l := owned(t, memstore.New(), "one")
	s := newStage(t, l)
	h := s.start(t, "1")
	<-s.runs
	input := must.Get(s.app.State(t.Context(), "t"))(t).Parent
	for _, branch := range []string{"", "mine"} {
		_, err := s.app.Replay(t.Context(), input, flow.RunOptions{Branch: branch})
		must.Fail(t, err, posthouse.ErrBusy)
	}
	if info := must.Get(l.Thread(t.Context(), "t"))(t); len(info.Branches) != 1 {
		t.Errorf("branches %+v", info.Branches)
	}
	replayed := make(chan *flow.Result[string])
	go func() {
		out, err := s.app.Replay(t.Context(), input, onBusy(runs.Enqueue))
		if err != nil {
			t.Error(err)
		}
		replayed <- out
	}()
	close(s.let)
	must.Get(h.Result())(t)
	if out := <-replayed; out != nil && (out.Branch != "fork-1" || out.Status != posthouse.StatusDone || out.Output != "1") {
		t.Errorf("output %+v", out)
	}
	_, err := s.app.Replay(t.Context(), input, flow.RunOptions{Branch: posthouse.MainBranch})
	must.Fail(t, err, posthouse.ErrExists)
}
