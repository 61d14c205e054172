package runner_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestTimersFollowTheTimeOfDay sets the clock of a process by an hour while a thread sleeps and
// another waits for an answer. A timer fires at its time of day, once, though the clock is
// set back afterwards; an answer that was given before the deadline passed stands.
func TestTimersFollowTheTimeOfDay(t *testing.T) {
	for _, tc := range []struct {
		name  string
		set   time.Duration // after half an hour
		fires time.Duration // from the beginning; due is after two hours
	}{
		{"ahead", time.Hour, time.Hour},
		{"back", -time.Hour, 3 * time.Hour},
		{"ahead over the deadline", 3 * time.Hour, 30 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var offset atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				l, err := ledger.Open(memstore.New(), &ledger.Options{Owner: "a", Now: now})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				due := begun.Add(2 * time.Hour)
				var mu sync.Mutex
				var woke []time.Duration
				sleeper := &program{name: "sleeper", l: l, last: 2, node: func(ctx context.Context, _ string, n int) error {
					if n != 1 {
						return nil
					}
					task, _ := engine.From(ctx)
					if err := task.Until(ctx, "nap", due); err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					woke = append(woke, time.Since(begun))
					return nil
				}}
				asks := &program{name: "asks", l: l, last: 2, node: asking(posthouse.Gate{Name: "ok", ExpiresAt: due})}
				run(t, l, runner.Options{Programs: []posthouse.Program{sleeper, asks}})
				sleeper.start(t, "sleeps")
				asks.start(t, "answered")
				asks.start(t, "late")
				sleep(30 * time.Minute)
				answered, late := gates(t, l, "answered")[0], gates(t, l, "late")[0]
				approve(t, l, answered)
				offset.Store(int64(tc.set))
				for range 4 * 60 { // minutes
					sleep(time.Minute)
					mu.Lock()
					fired := len(woke) > 0
					mu.Unlock()
					if fired && time.Since(begun) > tc.fires+10*time.Minute {
						offset.Store(int64(-2 * time.Hour)) // what has fired does not fire again
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if len(woke) != 1 || woke[0] < tc.fires || woke[0] > tc.fires+2*time.Second {
					t.Errorf("it woke after %v, want once after %v", woke, tc.fires)
				}
				for id, want := range map[posthouse.ID]posthouse.Verdict{answered: posthouse.Approve, late: posthouse.Expire} {
					if g, err := l.Gate(t.Context(), id); err != nil || g.Decision == nil || g.Decision.Verdict != want {
						t.Errorf("gate %s: %+v %v, want %s", id, g.Decision, err, want)
					}
				}
				for _, thread := range []string{"sleeps", "answered", "late"} {
					if s := status(t, l, thread); s != posthouse.StatusDone {
						t.Errorf("thread %s is %q", thread, s)
					}
				}
			})
		})
	}
}
