package runner_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestGoesOnAfterADecision(t *testing.T) {
	for _, tc := range []struct {
		name    string
		noWatch bool
		kick    bool
		within  time.Duration
	}{
		{"told by the store", false, false, 0},
		{"told by a hint", true, true, 0},
		{"the hint was lost", true, false, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, memstore.New(), "")
				p := &program{name: "p", l: l, last: 2, node: asking(posthouse.Gate{Name: "ok"})}
				p.start(t, "t")
				r, _ := run(t, l, runner.Options{Programs: []posthouse.Program{p}, NoWatch: tc.noWatch})
				sleep(300 * time.Millisecond) // off the beat of the sweeps
				if s := status(t, l, "t"); s != posthouse.StatusWaiting {
					t.Fatal(s)
				}
				sleep(time.Hour)
				if n := p.count("t"); n != 1 {
					t.Fatalf("advanced %d times while it waited", n)
				}
				approve(t, l, gates(t, l, "t")[0])
				if tc.kick {
					r.Kick("t")
				}
				waitIdle()
				if s := status(t, l, "t"); (s == posthouse.StatusDone) != (tc.within == 0) {
					t.Fatal(s)
				}
				sleep(tc.within)
				if s := status(t, l, "t"); s != posthouse.StatusDone {
					t.Fatal(s)
				}
			})
		})
	}
}

// A silent store tells of nothing, and counts how often all threads are asked for.
type silent struct {
	posthouse.Store
	all atomic.Int32
}

func (s *silent) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if q == (posthouse.ThreadQuery{}) {
		s.all.Add(1)
	}
	return s.Store.Threads(ctx, q)
}

// TestSweepsFindChangesWithoutAWatch: over a store that cannot be watched, the next
// sweep finds whatever another process did, and no sweep polls all threads.
func TestSweepsFindChangesWithoutAWatch(t *testing.T) {
	asks := posthouse.Change{Status: posthouse.StatusWaiting, Graph: "p", Next: []string{"2"}}
	commit := func(t *testing.T, l *ledger.Ledger, c posthouse.Change, gs ...posthouse.Gate) *posthouse.Committed {
		done, err := l.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &c, Gates: gs})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for name, tc := range map[string]struct {
		before func(*testing.T, *ledger.Ledger)
		act    func(*testing.T, *ledger.Ledger)
	}{
		"a decision": {
			func(t *testing.T, l *ledger.Ledger) { commit(t, l, asks, posthouse.Gate{Name: "ok"}) },
			func(t *testing.T, l *ledger.Ledger) { approve(t, l, gates(t, l, "t")[0]) },
		},
		"a signal": {
			func(t *testing.T, l *ledger.Ledger) {
				commit(t, l, asks, posthouse.Gate{Name: "go", Kind: posthouse.GateSignal, Signal: "go"})
			},
			func(t *testing.T, l *ledger.Ledger) {
				if _, err := l.Signal(t.Context(), "t", posthouse.Signal{Name: "go"}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"a deadline": {
			nil,
			func(t *testing.T, l *ledger.Ledger) {
				commit(t, l, asks, posthouse.Gate{Name: "ok", ExpiresAt: time.Now().Add(100 * time.Millisecond)})
			},
		},
		"a checkpoint by hand": {
			nil,
			func(t *testing.T, l *ledger.Ledger) {
				commit(t, l, posthouse.Change{Status: posthouse.StatusRunning, Graph: "p", Next: []string{"2"}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &silent{Store: memstore.New()}
				l, other := open(t, store, "runs"), open(t, store, "acts")
				if tc.before != nil {
					tc.before(t, other)
				}
				p := &program{name: "p", l: l, last: 2, node: func(context.Context, string, int) error { return nil }}
				run(t, l, runner.Options{Programs: []posthouse.Program{p}})
				sleep(time.Hour + 300*time.Millisecond) // off the beat of the sweeps
				tc.act(t, other)
				sleep(600 * time.Millisecond)
				if s := status(t, l, "t"); s == posthouse.StatusDone {
					t.Error("found without a sweep: by what?")
				}
				sleep(100 * time.Millisecond)
				if s := status(t, l, "t"); s != posthouse.StatusDone {
					t.Errorf("the next sweep leaves it %s", s)
				}
				if n := store.all.Load(); n > 2 { // each Ledger looks once whether the store is encrypted
					t.Errorf("all threads were asked for %d times", n)
				}
			})
		})
	}
}

// One of two gates is decided: the branch can run, but nothing comes of it.
func TestDoesNotSpinOnAnOpenGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		p := &program{name: "p", l: l, last: 2, node: asking(posthouse.Gate{Name: "a"}, posthouse.Gate{Name: "b"})}
		p.start(t, "t")
		r, _ := run(t, l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		ids := gates(t, l, "t")
		g := approve(t, l, ids[0])
		h, err := r.Wait(t.Context(), "t", "", g.Decision.Seq)
		if err != nil || h.ID != g.Checkpoint {
			t.Fatal(h, err)
		}
		sleep(time.Hour)
		if n := p.count("t"); n < 2 || n > 3 { // once more if both the store and Wait gave a hint
			t.Fatalf("advanced %d times", n)
		}
		g = approve(t, l, ids[1])
		h, err = r.Wait(t.Context(), "t", "main", g.Decision.Seq)
		if err != nil || h.Status != posthouse.StatusDone || h.Seq <= g.Decision.Seq {
			t.Fatal(h, err)
		}
	})
}

// A runner without programs still records deadlines.
func TestExpiresForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		p := &program{name: "p", l: l, last: 2, node: asking(posthouse.Gate{Name: "ok", ExpiresAt: time.Now().Add(300 * time.Millisecond)})}
		p.start(t, "t")
		run(t, l, runner.Options{})
		waitIdle()
		if err := p.Advance(t.Context(), "t", ""); err != nil {
			t.Fatal(err)
		}
		sleep(300 * time.Millisecond) // sooner than the next sweep: the gate was heard of
		if s := status(t, l, "t"); s != posthouse.StatusReady {
			t.Fatal(s)
		}
	})
}
