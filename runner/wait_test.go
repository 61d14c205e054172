package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// sleeping is a node that sleeps at node 1 and then tells.
func sleeping(d time.Duration, woke func(thread string) error) func(context.Context, string, int) error {
	return func(ctx context.Context, thread string, n int) error {
		if n != 1 {
			return nil
		}
		task, _ := engine.From(ctx)
		if err := task.Until(ctx, "nap", time.Now().Add(d)); err != nil {
			return err
		}
		if err := task.PersistClaim(ctx); err != nil { // it acts without a step
			return err
		}
		return woke(thread)
	}
}

// These are the cases of Atmosphere's DurableTimerServiceTest and
// DurableApprovalExpiryTest.

// TestTimerFiresOnce: not before it is due, and for one of two processes.
func TestTimerFiresOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		var woke atomic.Int32
		node := sleeping(time.Hour, func(string) error { woke.Add(1); return nil })
		var programs []*program
		for _, owner := range []string{"a", "b"} {
			p := &program{name: "p", l: open(t, store, owner), last: 2, node: node}
			programs = append(programs, p)
			run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		}
		programs[0].start(t, "t")
		sleep(59 * time.Minute)
		if s := status(t, programs[0].l, "t"); s != posthouse.StatusWaiting || woke.Load() != 0 {
			t.Fatal(s, woke.Load())
		}
		sleep(2 * time.Minute)
		if s := status(t, programs[0].l, "t"); s != posthouse.StatusDone || woke.Load() != 1 {
			t.Fatal(s, woke.Load())
		}
	})
}

// TestOverdueTimerFiresAtStartUp: its time came while no runner was there.
func TestOverdueTimerFiresAtStartUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		var woke time.Time
		p := &program{name: "p", l: open(t, store, "a"), last: 2, node: sleeping(time.Hour, func(string) error { woke = time.Now(); return nil })}
		p.start(t, "t")
		_, stop := run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		sleep(24 * time.Hour)
		began := time.Now()
		p.l = open(t, store, "b")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		if s := status(t, p.l, "t"); s != posthouse.StatusDone || woke.Before(began) {
			t.Fatal(s, woke)
		}
	})
}

// TestDeadlineArmedBeforeARestartFires: no answer came, and the question counts
// as refused, though the process that asked is gone and the deadline passed while
// it was.
func TestDeadlineArmedBeforeARestartFires(t *testing.T) {
	for name, away := range map[string]time.Duration{"still to come": time.Minute, "overdue": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				p := &program{name: "p", l: open(t, store, "a"), last: 2, node: asking(posthouse.Gate{Name: "ok", ExpiresAt: time.Now().Add(time.Hour)})}
				p.start(t, "t")
				_, stop := run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
				waitIdle()
				id := gates(t, p.l, "t")[0]
				if err := errors.Join(stop(), p.l.Close()); err != nil {
					t.Fatal(err)
				}
				sleep(away)
				l := open(t, store, "b")
				run(t, l, runner.Options{})
				sleep(max(time.Second, time.Hour-away+time.Second))
				if g, err := l.Gate(t.Context(), id); err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Expire {
					t.Fatal(g, err)
				}
				if s := status(t, l, "t"); s != posthouse.StatusReady {
					t.Error(s)
				}
				_, err := l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
				if !errors.Is(err, posthouse.ErrExpired) {
					t.Error(err)
				}
			})
		})
	}
}

// TestFailureAfterATimerIsContained: others are woken all the same.
func TestFailureAfterATimerIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{name: "p", l: open(t, memstore.New(), ""), last: 2}
		p.node = sleeping(time.Hour, func(thread string) error {
			switch thread {
			case "bad":
				return errors.New("no")
			case "worse":
				panic("worse")
			}
			return nil
		})
		for _, thread := range []string{"bad", "good", "worse", "z"} {
			p.start(t, thread)
		}
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		sleep(time.Hour + time.Second)
		want := map[string]posthouse.Status{"bad": posthouse.StatusFailed, "good": posthouse.StatusDone, "z": posthouse.StatusDone}
		for thread, s := range want {
			if have := status(t, p.l, thread); have != s {
				t.Errorf("%s is %q, want %q", thread, have, s)
			}
		}
	})
}

// TestDeadlineDoesNotDemoteADecision, nor fires for a wait that was cancelled.
func TestDeadlineDoesNotDemoteADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{name: "p", l: open(t, memstore.New(), ""), last: 2, node: asking(posthouse.Gate{Name: "ok", ExpiresAt: time.Now().Add(time.Hour)})}
		p.start(t, "t")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		id := gates(t, p.l, "t")[0]
		approve(t, p.l, id)
		sleep(2 * time.Hour)
		if g, err := p.l.Gate(t.Context(), id); err != nil || g.Decision.Verdict != posthouse.Approve {
			t.Fatal(g, err)
		}

		var ended error
		p.node = func(ctx context.Context, _ string, n int) error {
			task, _ := engine.From(ctx)
			err := task.Until(ctx, "nap", time.Now().Add(time.Hour))
			if !errors.Is(err, posthouse.ErrWaiting) {
				ended = err
			}
			return err
		}
		p.start(t, "u")
		sleep(time.Minute)
		for g, err := range p.l.Gates(t.Context(), ledger.GateQuery{Thread: "u", Kind: posthouse.GateTimer}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.l.Withdraw(t.Context(), g.ID, ledger.Withdrawal{By: "bob", Operator: true}); err != nil {
				t.Fatal(err)
			}
		}
		sleep(time.Second)
		if s := status(t, p.l, "u"); s != posthouse.StatusFailed || !errors.Is(ended, posthouse.ErrCancelled) {
			t.Fatal(s, ended)
		}
		sleep(2 * time.Hour)
		if info, err := p.l.Thread(t.Context(), "u"); err != nil || info.Due != 0 || info.Status != posthouse.StatusFailed {
			t.Fatalf("info %v, error %v", info, err)
		}
	})
}

// TestForkOfASleeperSleepsOn by itself, until the same time.
func TestForkOfASleeperSleepsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var woke []time.Time
		p := &program{name: "p", l: open(t, memstore.New(), ""), last: 2}
		p.node = sleeping(time.Hour, func(string) error {
			mu.Lock()
			defer mu.Unlock()
			woke = append(woke, time.Now())
			return nil
		})
		began := time.Now()
		p.start(t, "t")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		sleep(10 * time.Minute)
		info, err := p.l.Thread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.l.Fork(t.Context(), info.Branches[0].Head, &ledger.ForkOptions{Branch: "f"}); err != nil {
			t.Fatal(err)
		}
		sleep(51 * time.Minute)
		if len(woke) != 2 || woke[0].Sub(began) < time.Hour || woke[1].Sub(began) > time.Hour+2*time.Second {
			t.Fatal(woke)
		}
	})
}

// TestSignalWakesItsThread: in another process too, and during a run.
func TestSignalWakesItsThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		var got []string
		busy, release := make(chan bool, 1), make(chan bool)
		p := &program{name: "p", l: open(t, store, "a"), last: 3}
		p.node = func(ctx context.Context, _ string, n int) error {
			if n == 2 {
				busy <- true
				<-release
			}
			task, _ := engine.From(ctx)
			v, err := task.Signal(ctx, "go", false, 0)
			if err == nil {
				got = append(got, string(v))
			}
			return err
		}
		p.start(t, "t")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		other := open(t, store, "b")
		send := func(v string) {
			if _, err := other.Signal(t.Context(), "t", posthouse.Signal{Name: "go", Value: json.RawMessage(v)}); err != nil {
				t.Fatal(err)
			}
		}
		waitIdle()
		send("1")
		<-busy
		send("2")
		send("3")
		close(release)
		sleep(time.Second)
		if s := status(t, p.l, "t"); s != posthouse.StatusDone || fmt.Sprint(got) != "[1 2 3]" {
			t.Fatal(s, got)
		}
	})
}

// TestSleepersCostNothing: no goroutine, no turn of their program.
func TestSleepersCostNothing(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		var woke atomic.Int32
		p := &program{name: "p", l: open(t, memstore.New(), ""), last: 2, node: sleeping(time.Hour, func(string) error { woke.Add(1); return nil })}
		_, stop := run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		before := runtime.NumGoroutine()
		for i := range n {
			p.start(t, fmt.Sprint("t", i))
		}
		sleep(30 * time.Minute)
		if now := runtime.NumGoroutine(); now > before {
			t.Errorf("%d goroutines while %d threads sleep, %d before", now, n, before)
		}
		turns := 0
		for i := range n {
			turns += p.count(fmt.Sprint("t", i))
		}
		if turns > n+n/100 || woke.Load() != 0 {
			t.Errorf("%d turns of %d programs that sleep, %d woke", turns, n, woke.Load())
		}
		sleep(31 * time.Minute)
		if woke.Load() != int32(n) {
			t.Errorf("%d of %d woke", woke.Load(), n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestCancelsForTheGone: a run that was asked to cancel and died before it
// could is ended by whoever takes its thread.
func TestCancelsForTheGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		gone, l := open(t, mute{store}, "gone"), open(t, store, "here")
		if err := open(t, store, "gone").Core().Heartbeat(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := session.Begin(t.Context(), gone, session.Options{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), &ledger.Draft{Checkpoint: &posthouse.Change{Graph: "p", Status: posthouse.StatusRunning, Next: []string{"1"}}}); err != nil {
			t.Fatal(err)
		}
		p := &program{name: "p", l: l, last: 1, node: func(context.Context, string, int) error { t.Error("it ran"); return nil }}
		run(t, l, runner.Options{Programs: []posthouse.Program{p}})
		if h, err := l.Cancel(t.Context(), "t", &ledger.CancelOptions{By: "bob", Reason: "enough"}); err != nil || h.Status != posthouse.StatusRunning {
			t.Fatal(h, err)
		}
		sleep(time.Second)
		if s := status(t, l, "t"); s != posthouse.StatusRunning {
			t.Fatal("taken from the living:", s)
		}
		sleep(5 * time.Minute)
		info, err := l.Thread(t.Context(), "t")
		if err != nil || info.Status != posthouse.StatusCancelled || len(info.Cancelling) != 0 {
			t.Fatalf("info %v, error %v", info, err)
		}
		if h, err := l.GetHeader(t.Context(), info.Branches[0].Head); err != nil || h.Error != "enough" || h.By != "bob" {
			t.Fatal(h, err)
		}
	})
}
