package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A beaten is a store that counts the writes of liveness, and may lose them.
type beaten struct {
	*memstore.Store
	beats  atomic.Int64
	broken atomic.Bool // fails them
	alone  bool        // says that only this process has it
	runs   posthouse.Running
}

func (b *beaten) Exclusive() bool { return b.alone }

func (b *beaten) Runs() *posthouse.Running { return &b.runs }

func (b *beaten) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if key.Thread == posthouse.ProcessThread && op.Verb == posthouse.SlotPut {
		b.beats.Add(1)
		if b.broken.Load() {
			return posthouse.Slot{}, errors.New("the store is away")
		}
	}
	return b.Store.Slot(ctx, key, op)
}

// A living is a process with a run of thread "t", and the log of its warnings.
type living struct {
	*testing.T
	store    *beaten
	l, other *ledger.Ledger
	claim    *ledger.Claim
	warnings bytes.Buffer
}

func newLiving(t *testing.T, alone bool, ttl time.Duration) *living {
	p := &living{T: t, store: &beaten{Store: memstore.New(), alone: alone}}
	p.l = must.Get(ledger.Open(p.store, &ledger.Options{
		Owner: "a", LeaseTTL: ttl, Logger: slog.New(slog.NewTextHandler(&p.warnings, nil)),
	}))(t)
	p.other = must.Get(ledger.Open(p.store.Store, &ledger.Options{Owner: "b", LeaseTTL: ttl}))(t)
	p.claim = must.Get(p.l.Claim(t.Context(), "t", "r"))(t)
	p.commit(posthouse.StatusRunning)
	return p
}

func (p *living) commit(s posthouse.Status) {
	p.Helper()
	must.Get(p.l.Commit(p.Context(), &ledger.Draft{
		Thread: "t", Claim: p.claim, Checkpoint: &posthouse.Change{Status: s, Next: []string{"n"}},
	}))(p)
}

// sweep has the other process try to take the thread each second.
func (p *living) sweep(d time.Duration) (err error) {
	for range d / time.Second {
		<-time.After(time.Second)
		synctest.Wait()
		var c *ledger.Claim
		c, err = p.other.Claim(p.Context(), "t", "sweep")
		if err == nil {
			p.claim, p.l = c, p.other
			return nil
		}
	}
	return err
}

// TestLongStepsKeepTheirThread: a run that writes nothing for much longer than
// its lease keeps its thread, without a runner, and on record is that it lived.
func TestLongStepsKeepTheirThread(t *testing.T) {
	for _, ttl := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := newLiving(t, false, ttl)
			if err := p.sweep(5 * time.Minute); !errors.Is(err, posthouse.ErrBusy) {
				t.Fatalf("with a lease of %v: %v", ttl, err)
			}
			p.commit(posthouse.StatusDone)
			if err := p.claim.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			beats := p.store.beats.Load()
			if want := int64(5 * time.Minute / min(time.Second, ttl/6)); beats < want-1 || beats > want {
				t.Errorf("%d beats in five minutes with a lease of %v, want %d", beats, ttl, want)
			}
			if <-time.After(time.Hour); p.store.beats.Load() != beats {
				t.Error("it beats with nothing to keep")
			}
		})
	}
}

// TestThreadOfASilentOwnerIsTaken shows the purpose of the beats: without them the
// thread is taken. A failed beat is reported, and tried again.
func TestThreadOfASilentOwnerIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLiving(t, false, 10*time.Second)
		defer p.l.Close()
		p.store.broken.Store(true)
		if err := p.sweep(8 * time.Second); !errors.Is(err, posthouse.ErrBusy) {
			t.Fatal(err)
		}
		if !strings.Contains(p.warnings.String(), "the store is away") {
			t.Errorf("the log says %q", p.warnings.String())
		}
		p.store.broken.Store(false)
		if err := p.sweep(time.Minute); !errors.Is(err, posthouse.ErrBusy) {
			t.Fatal("it did not recover:", err)
		}
		p.store.broken.Store(true)
		if err := p.sweep(time.Minute); err != nil {
			t.Fatal(err)
		}
		p.commit(posthouse.StatusDone)
	})
}

// TestLivenessCostsNothing for short runs, on a store that no other process has
// open, for a thread that its run released, and once the Ledger is closed.
func TestLivenessCostsNothing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		alone bool
		end   func(p *living) error
	}{
		{"exclusive", true, func(p *living) error { return nil }},
		{"given back", false, func(p *living) error { return p.claim.Release(p.Context()) }},
		{"released", false, func(p *living) error {
			_, err := p.l.Release(p.Context(), "t", &ledger.ReleaseOptions{Claim: p.claim, By: "a"})
			return err
		}},
		{"closed", false, func(p *living) error { return p.l.Close() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newLiving(t, tc.alone, 10*time.Second)
				<-time.After(900 * time.Millisecond)
				if err := tc.end(p); err != nil {
					t.Fatal(err)
				}
				if <-time.After(time.Hour); p.store.beats.Load() != 0 {
					t.Errorf("%d beats", p.store.beats.Load())
				}
			})
		})
	}
}

// TestLivenessOfManyRuns: it goes on until the last one has ended, and starts
// again with the next.
func TestLivenessOfManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLiving(t, false, 10*time.Second)
		for _, name := range []string{"u", "v"} {
			c := must.Get(p.l.Claim(t.Context(), name, "r"))(t)
			<-time.After(3250 * time.Millisecond)
			for range 2 { // giving back twice counts once
				if err := c.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := p.store.beats.Load(); n != 6 {
			t.Fatalf("%d beats in six and a half seconds", n)
		}
		if err := p.claim.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		p.claim = must.Get(p.l.Claim(t.Context(), "t", "r2"))(t)
		p.commit(posthouse.StatusRunning)
		if err := p.sweep(time.Minute); !errors.Is(err, posthouse.ErrBusy) {
			t.Fatal(err)
		}
		if n := p.store.beats.Load(); n < 6+59 || n > 6+60 {
			t.Fatalf("%d beats", n)
		}
		if err := p.l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
