package ledger_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stalling store answers a question about slots, or carries out a write of one, after a
// while. It is a server that others see as well, so it never loses what it was told.
type stalling struct {
	*memstore.Store
	before, after func() time.Duration // of each call
	lose          func() bool          // whether a renewal gets lost
}

func (s *stalling) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if err := linger(ctx, s.before()); err != nil {
		return posthouse.Slot{}, err
	}
	if s.lose != nil && op.Verb == posthouse.SlotPut && s.lose() {
		return posthouse.Slot{}, errors.New("the connection is lost")
	}
	slot, err := s.Store.Slot(ctx, key, op)
	if err := linger(ctx, s.after()); err != nil {
		return posthouse.Slot{}, err
	}
	return slot, err
}

func linger(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// at returns d at each call; a list of several is gone through again and again. Renewals
// overlap, so it can be called by several at once.
func at(ds ...time.Duration) func() time.Duration {
	var n atomic.Int64
	return func() time.Duration { return ds[n.Add(1)%int64(len(ds))] }
}

// leased has owner "a" run thread "t" with the default lease over a store, and returns a
// Ledger of another process over another store.
func leased(t *testing.T, s, others posthouse.Store) (a, b *ledger.Ledger) {
	a = must.Get(ledger.Open(s, &ledger.Options{Owner: "a"}))(t)
	b = must.Get(ledger.Open(others, &ledger.Options{Owner: "b"}))(t)
	claim := must.Get(a.Claim(t.Context(), "t", "r"))(t)
	must.Get(a.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}},
	}))(t)
	return a, b
}

// taken has b try to take the thread, as often as a process looks, for as long as d. It
// reports how long it took, and whether it did.
func taken(t *testing.T, b *ledger.Ledger, d time.Duration) (time.Duration, bool) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < d; <-time.After(b.Core().Config.RenewEvery()) {
		_, err := b.Claim(t.Context(), "t", "r2")
		if err == nil {
			return time.Since(begun), true
		}
		if !errors.Is(err, posthouse.ErrBusy) {
			t.Fatal(err)
		}
	}
	return 0, false
}

// TestTheLivingStandAStall has every call of a store stall for two seconds, of the owner
// or of who looks at it, before it is carried out or after. The control arm stalls for
// longer than a lease stands.
func TestTheLivingStandAStall(t *testing.T) {
	const stall = 2 * time.Second
	none := at(0)
	for _, tc := range []struct {
		name          string
		before, after func() time.Duration
		others        bool // they stall, not the owner
		lose          bool // every second renewal
		want          bool // that it is taken
	}{
		{"before", at(stall), none, false, false, false},
		{"after", none, at(stall), false, false, false},
		{"now and then", at(0, 0, stall), none, false, false, false},
		{"either way", at(stall, 0), at(0, stall), false, false, false},
		{"of who looks", at(stall, 0), at(0, stall), true, false, false},
		{"renewals lost", none, none, false, true, false},
		{"longer than a lease", at(4 * time.Second), none, false, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				slow := &stalling{Store: store, before: tc.before, after: tc.after}
				if tc.lose {
					var n atomic.Int64
					slow.lose = func() bool { return n.Add(1)%2 == 0 }
				}
				mine, others := posthouse.Store(slow), posthouse.Store(store)
				if tc.others {
					mine, others = store, slow
				}
				a, b := leased(t, mine, others)
				after, ok := taken(t, b, 3*time.Minute)
				if ok != tc.want {
					t.Errorf("taken: %v, after %v", ok, after)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				<-time.After(time.Minute) // what stalls ends
			})
		})
	}
}

// TestTheGoneLoseTheirThreadInTime ends an owner at many moments of its period, and looks
// at it from many moments of another's. With the default lease that takes at most 4 s, and
// never less than the lease.
func TestTheGoneLoseTheirThreadInTime(t *testing.T) {
	const step = 70 * time.Millisecond
	for lived := 10 * time.Millisecond; lived < 1200*time.Millisecond; lived += step {
		for phase := time.Duration(0); phase < 500*time.Millisecond; phase += step {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				a, b := leased(t, store, store)
				<-time.After(phase)
				go func() {
					<-time.After(lived)
					if err := a.Close(); err != nil { // the last that is heard of it
						t.Error(err)
					}
				}()
				after, ok := taken(t, b, time.Minute)
				if after -= lived; !ok || after > 4*time.Second || after < 2*time.Second {
					t.Errorf("ended after %v, seen after %v: taken %v, %v after its end", lived+phase, phase, ok, after)
				}
			})
		}
	}
}

// A damaged store cannot read the slots of processes.
type damaged struct{ posthouse.Store }

func (s damaged) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if key.Thread == posthouse.ProcessThread && op.Verb == posthouse.SlotGet {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the slot is damaged"}
	}
	return s.Store.Slot(ctx, key, op)
}

// TestADamagedOwnerIsGoneInTime: a liveness that cannot be read does not keep others from the
// thread, and does not give it to them sooner.
func TestADamagedOwnerIsGoneInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := leased(t, store, damaged{store})
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if after, ok := taken(t, b, time.Minute); !ok || after > 4*time.Second || after < 2*time.Second {
			t.Errorf("taken %v, after %v", ok, after)
		}
	})
}

// TestTheIdleAreNotGone: an owner that had nothing to run renewed nothing, and was seen
// long ago. Its next claim is as good as its first.
func TestTheIdleAreNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := leased(t, store, store)
		if _, ok := taken(t, b, time.Minute); ok {
			t.Fatal("taken from the living")
		}
		info := must.Get(a.Thread(t.Context(), "t"))(t)
		if !info.Lease.Held {
			t.Fatal("no lease")
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		again := must.Get(ledger.Open(store, &ledger.Options{Owner: "a"}))(t)
		defer again.Close()
		if _, err := b.Claim(t.Context(), "t", "r2"); !errors.Is(err, posthouse.ErrBusy) { // sees its last renewal
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		claim := must.Get(again.Claim(t.Context(), "t2", "r"))(t)
		must.Get(again.Commit(t.Context(), &ledger.Draft{
			Thread: "t2", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}},
		}))(t)
		if _, err := b.Claim(t.Context(), "t2", "r2"); !errors.Is(err, posthouse.ErrBusy) {
			t.Errorf("a claim of a moment ago: %v", err)
		}
	})
}
