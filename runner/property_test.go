package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
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

// Several processes share a store, die and come back; nodes fail and ask.
// Whatever happens every thread ends, no result is recorded twice, and no
// recorded result is computed again.
func TestManyRunnersOneStore(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

// A witness notes what ran and what was recorded, outside of the store.
type witness struct {
	mu       sync.Mutex
	rnd      *rand.Rand
	recorded map[string]bool // keys of the steps that returned a result from Do
}

func (w *witness) chance(percent int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(100) < percent
}

func chaos(t *testing.T, seed uint64) {
	store := memstore.New()
	w := &witness{rnd: rand.New(rand.NewPCG(seed, 1)), recorded: map[string]bool{}}
	node := func(ctx context.Context, thread string, n int) error {
		task, _ := engine.From(ctx)
		for i := range 3 {
			var key string
			_, err := task.Do(ctx, "work", 0, func(ctx context.Context) (posthouse.Value, error) {
				key, _ = engine.StepKey(ctx)
				w.mu.Lock()
				if w.recorded[key] {
					t.Errorf("%s ran again", key)
				}
				w.mu.Unlock()
				<-time.After(time.Duration(i*100) * time.Millisecond)
				if w.chance(10) {
					return posthouse.Value{}, errInfrastructure
				}
				return posthouse.Value{Codec: "raw", Data: []byte(key)}, nil
			})
			if err != nil {
				return err
			}
			w.mu.Lock()
			w.recorded[key] = true
			w.mu.Unlock()
		}
		if n == 2 {
			if g, err := task.Gates().Ask(ctx, posthouse.Gate{Name: "ok", ExpiresAt: time.Now().Add(time.Minute)}); err != nil {
				return err
			} else if g.Decision == nil {
				t.Error("passed without a decision")
			}
		}
		return nil
	}
	const threads = 15
	seedProgram := &program{name: "p", l: open(t, store, "seed")}
	for i := range threads {
		seedProgram.start(t, fmt.Sprintf("t%d", i))
	}
	var stops []func() error
	begin := func(i int) {
		p := &program{name: "p", l: open(t, store, fmt.Sprintf("process-%d", i)), last: 4, node: node}
		_, stop := run(t, p.l, runner.Options{Programs: []posthouse.Program{p}, Concurrency: 4, DrainTimeout: time.Second, NoWatch: i%2 == 1})
		stops = append(stops, stop)
	}
	begin(0)
	begin(1)
	for i := range 6 { // one goes, another comes
		sleep(3 * time.Second)
		if err := stops[i](); err != nil {
			t.Fatal(err)
		}
		begin(i + 2)
	}
	sleep(5 * time.Minute) // deadlines, pauses and leases run out
	for i := range threads {
		thread := fmt.Sprintf("t%d", i)
		if s := status(t, seedProgram.l, thread); s != posthouse.StatusDone {
			t.Errorf("%s is %s", thread, s)
		}
		checkLog(t, seedProgram.l, thread)
	}
}

// checkLog looks for a result that is on record twice, and for entries under a
// fence that a newer claim had overtaken.
func checkLog(t *testing.T, l *ledger.Ledger, thread string) {
	steps, fence := map[string]bool{}, uint64(0)
	for e, err := range l.Log(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Records {
			switch {
			case r.Step != nil:
				if key := fmt.Sprint(r.Step.Task, r.Step.Name, r.Step.Occurrence, r.Step.Codec); steps[key] && r.Step.Codec != "posthouse-failed" {
					t.Errorf("%s is on record twice in %s", key, thread)
				} else {
					steps[key] = true
				}
			case r.Claim != nil && !r.Claim.Unclaim:
				if r.Claim.Fence <= fence {
					t.Errorf("fence %d after %d in %s", r.Claim.Fence, fence, thread)
				}
				fence = r.Claim.Fence
			}
		}
	}
	if len(steps) != 12 {
		t.Errorf("%d results on record in %s", len(steps), thread)
	}
}

// A mute is the store of a process that is frozen, or dead: its heartbeats do not arrive.
type mute struct{ posthouse.Store }

func (m mute) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotPut && key.Thread == posthouse.ProcessThread {
		return posthouse.Slot{}, posthouse.ErrUnavailable
	}
	return m.Store.Slot(ctx, key, op)
}

// A process that was frozen past its lease wakes up to find its thread done by
// another: nothing of what it does then is recorded.
func TestFrozenProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		thaw := make(chan struct{})
		a := &program{name: "p", l: open(t, mute{store}, "a"), last: 2}
		paid := false
		a.node = func(ctx context.Context, _ string, _ int) error {
			<-thaw
			task, _ := engine.From(ctx)
			_, err := task.Do(ctx, "pay", 0, func(context.Context) (posthouse.Value, error) {
				paid = true
				return posthouse.Value{Codec: "raw"}, nil
			})
			return err
		}
		a.start(t, "t")
		s, err := session.Begin(t.Context(), a.l, session.Options{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), &ledger.Draft{Steps: []posthouse.Step{{Task: "0/x", Name: "claims"}}}); err != nil {
			t.Fatal(err)
		}
		frozen := make(chan error, 1)
		go func() { frozen <- a.loop(t.Context(), s) }()

		b := &program{name: "p", l: open(t, store, "b"), last: 2, node: func(context.Context, string, int) error { return nil }}
		run(t, b.l, runner.Options{Programs: []posthouse.Program{b}})
		sleep(time.Minute)
		if s := status(t, b.l, "t"); s != posthouse.StatusDone {
			t.Fatal(s)
		}
		info, err := b.l.Thread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		close(thaw)
		if err := <-frozen; !errors.Is(err, posthouse.ErrFenced) && !errors.Is(err, posthouse.ErrConflict) {
			t.Fatal("it was not stopped:", err)
		}
		if paid {
			t.Error("it executed a step of a thread that is done")
		}
		if now, err := b.l.Thread(t.Context(), "t"); err != nil || now.Tail != info.Tail {
			t.Fatal("it wrote:", now, err)
		}
		if err := s.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A late store answers a read that follows its first entry once the process is thawed.
type late struct {
	mute
	wrote, held *atomic.Bool
	thaw        chan struct{}
}

func (s late) Append(ctx context.Context, b *posthouse.Batch) error {
	s.wrote.Store(true)
	return s.mute.Append(ctx, b)
}

func (s late) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	var found []*posthouse.ThreadInfo
	var failed error
	for t, err := range s.mute.Threads(ctx, q) {
		found, failed = append(found, t), errors.Join(failed, err)
	}
	if s.wrote.Load() && !s.held.Swap(true) {
		<-s.thaw
	}
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for _, t := range found {
			if !yield(t, failed) {
				return
			}
		}
	}
}

// A process that was frozen while it claimed a thread wakes up to find its thread done by
// another: it executes nothing.
func TestFrozenWhileItClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		frozen := late{mute{store}, new(atomic.Bool), new(atomic.Bool), make(chan struct{})}
		frozen.held.Store(true) // not yet
		a := &program{name: "p", l: open(t, frozen, "a"), last: 2}
		paid := false
		a.node = func(ctx context.Context, _ string, _ int) error {
			task, _ := engine.From(ctx)
			_, err := task.Do(ctx, "pay", 0, func(context.Context) (posthouse.Value, error) {
				paid = true
				return posthouse.Value{Codec: "raw"}, nil
			})
			return err
		}
		a.start(t, "t")
		s, err := session.Begin(t.Context(), a.l, session.Options{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		frozen.wrote.Store(false)
		frozen.held.Store(false)
		ended := make(chan error, 1)
		go func() { ended <- a.loop(t.Context(), s) }()
		synctest.Wait()

		b := &program{name: "p", l: open(t, store, "b"), last: 2, node: func(context.Context, string, int) error { return nil }}
		run(t, b.l, runner.Options{Programs: []posthouse.Program{b}})
		sleep(time.Minute)
		if s := status(t, b.l, "t"); s != posthouse.StatusDone {
			t.Fatal(s)
		}
		close(frozen.thaw)
		if err := <-ended; err == nil {
			t.Error("it was not stopped")
		}
		if paid {
			t.Error("it executed a step of a thread that is done")
		}
		if err := s.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
