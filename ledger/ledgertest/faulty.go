package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// ErrInjected is the error of a call that [Faulty] refuses, unless FaultOptions.Err is set.
var ErrInjected = errors.New("ledgertest: injected fault")

// A Fault is a way in which a call fails.
type Fault int

// The faults. An iterator that loses its answer fails after its first element.
const (
	FaultRefuse     Fault = iota // the call is not made, and the error says so
	FaultLoseCall                // the call is not made, with an unknown outcome: [posthouse.ErrUnknown]
	FaultLoseAnswer              // the call is made, with an unknown outcome: [posthouse.ErrUnknown]
	FaultDelay                   // the call is made late, and succeeds
)

// String names the fault.
func (f Fault) String() string {
	return [...]string{"refuse", "lose the call", "lose the answer", "delay"}[f]
}

// FaultOptions say which calls fail, and how. Calls are counted from 1.
type FaultOptions struct {
	Method string // only calls of this method count: "Append", "Read", "Find", "List", "Threads", "Slot", "Remove"; "": all
	Fault  Fault
	Nth    int     // the first call that goes wrong; 0: no call
	Times  int     // so many in a row; default 1
	Rate   float64 // besides, each call with this probability, 0 to 1
	Seed   uint64  // for Rate

	Err   error         // for FaultRefuse; default [ErrInjected]
	Delay time.Duration // for FaultDelay
}

// A FaultStore is a store that fails calls as its options say. It has no optional
// interface, whatever the store below has.
type FaultStore struct {
	store posthouse.Store
	opt   FaultOptions

	mu    sync.Mutex
	rnd   *rand.Rand
	calls int
	fired int
}

// Faulty wraps a store. Its Close closes the store below.
func Faulty(s posthouse.Store, o *FaultOptions) *FaultStore {
	f := &FaultStore{store: s}
	if o != nil {
		f.opt = *o
	}
	if f.opt.Times == 0 {
		f.opt.Times = 1
	}
	if f.opt.Err == nil {
		f.opt.Err = ErrInjected
	}
	f.rnd = rand.New(rand.NewPCG(f.opt.Seed, 0))
	return f
}

// Fired returns how many calls failed.
func (f *FaultStore) Fired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// String returns the fault and its call, for a failure message.
func (f *FaultStore) String() string {
	o := f.opt
	return fmt.Sprintf("%s of %d calls from call %d of method %q, rate %g, seed %d", o.Fault, o.Times, o.Nth, o.Method, o.Rate, o.Seed)
}

// strikes counts a call and reports whether it fails.
func (f *FaultStore) strikes(method string) bool {
	if f.opt.Method != "" && f.opt.Method != method {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	hit := f.opt.Nth > 0 && f.calls >= f.opt.Nth && f.calls < f.opt.Nth+f.opt.Times
	if f.opt.Rate > 0 && f.rnd.Float64() < f.opt.Rate {
		hit = true
	}
	if hit {
		f.fired++
	}
	return hit
}

// call makes a call, or fails it.
func (f *FaultStore) call(ctx context.Context, method string, made func() error) error {
	if !f.strikes(method) {
		return made()
	}
	switch f.opt.Fault {
	case FaultRefuse:
		return f.opt.Err
	case FaultDelay:
		if err := f.wait(ctx); err != nil {
			return err
		}
		return made()
	case FaultLoseAnswer:
		_ = made() // whatever it was, the caller does not hear of it
	}
	return unknown(method)
}

func unknown(method string) error {
	return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the outcome of " + method + " is not known", Err: ErrInjected}
}

func (f *FaultStore) wait(ctx context.Context) error {
	timer := time.NewTimer(f.opt.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// faultyIter is call for an iterator.
func faultyIter[V any](ctx context.Context, f *FaultStore, method string, seq iter.Seq2[V, error]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		if !f.strikes(method) {
			seq(yield)
			return
		}
		switch f.opt.Fault {
		case FaultRefuse:
			yield(none, f.opt.Err)
		case FaultLoseCall:
			yield(none, unknown(method))
		case FaultLoseAnswer:
			for v, err := range seq {
				if !yield(v, err) || err != nil {
					return
				}
				break
			}
			yield(none, unknown(method))
		case FaultDelay:
			if err := f.wait(ctx); err != nil {
				yield(none, err)
				return
			}
			seq(yield)
		}
	}
}

// Append implements [posthouse.Store].
func (f *FaultStore) Append(ctx context.Context, b *posthouse.Batch) error {
	return f.call(ctx, "Append", func() error { return f.store.Append(ctx, b) })
}

// Read implements [posthouse.Store].
func (f *FaultStore) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return faultyIter(ctx, f, "Read", f.store.Read(ctx, thread, r))
}

// Find implements [posthouse.Store].
func (f *FaultStore) Find(ctx context.Context, id posthouse.ID) (ref posthouse.Ref, err error) {
	err = f.call(ctx, "Find", func() (err error) {
		ref, err = f.store.Find(ctx, id)
		return err
	})
	return ref, err
}

// List implements [posthouse.Store].
func (f *FaultStore) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return faultyIter(ctx, f, "List", f.store.List(ctx, q))
}

// Threads implements [posthouse.Store].
func (f *FaultStore) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return faultyIter(ctx, f, "Threads", f.store.Threads(ctx, q))
}

// Slot implements [posthouse.Store].
func (f *FaultStore) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (slot posthouse.Slot, err error) {
	err = f.call(ctx, "Slot", func() (err error) {
		slot, err = f.store.Slot(ctx, key, op)
		return err
	})
	return slot, err
}

// Remove implements [posthouse.Store].
func (f *FaultStore) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	err = f.call(ctx, "Remove", func() (err error) {
		done, err = f.store.Remove(ctx, r)
		return err
	})
	return done, err
}

// Close closes the store below. It never fails by a fault.
func (f *FaultStore) Close() error { return f.store.Close() }
