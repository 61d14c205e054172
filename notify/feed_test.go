package notify_test

import (
	"bytes"
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// A faulty is a store with watches that fail, each after a number of entries, until all have failed.
type faulty struct {
	posthouse.Store
	failures atomic.Int32
	after    int // entries of a watch before it fails
	skip     int // watches that do not fail, before those that do
	watches  atomic.Int32
}

func (s *faulty) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	watch := s.Store.(posthouse.Watcher).Watch(ctx, cursor)
	if int(s.watches.Add(1)) <= s.skip || s.failures.Add(-1) < 0 {
		return watch
	}
	return func(yield func(*posthouse.Entry, error) bool) {
		if s.after == 0 {
			yield(nil, errCut)
			return
		}
		n := 0
		for e, err := range watch {
			if !yield(e, err) {
				return
			}
			if n++; n == s.after {
				yield(nil, errCut)
				return
			}
		}
	}
}

func failing(store posthouse.Store, failures, skip, after int) *faulty {
	s := &faulty{Store: store, skip: skip, after: after}
	s.failures.Store(int32(failures))
	return s
}

func TestAFailureBeforeTheFirstRecordTellsNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for range 20 {
			d.ask()
		}
		time.Sleep(24 * time.Hour)
		r := &receiver{}
		d.start(d.open(failing(d.store, 2, 0, 0)), notify.Endpoint{Name: "ops", Channel: r})
		time.Sleep(time.Minute)
		g := d.ask()
		time.Sleep(time.Minute)
		same(t, r.gates(), map[posthouse.ID]int{g.ID: 1})
	})
}

func TestAFailureInAScanTellsNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for range 20 {
			d.ask()
		}
		time.Sleep(24 * time.Hour)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		stop()
		d.start(d.open(failing(d.store, 3, 0, 5)), e)
		time.Sleep(time.Minute)
		g := d.ask()
		time.Sleep(time.Minute)
		same(t, r.gates(), map[posthouse.ID]int{g.ID: 1})
	})
}

// In a copied store old entries follow new ones. A restart in between, with a cursor there, tells
// no old one.
func TestARestartInAScanTellsNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		must.Get(d.led.Commit(t.Context(), &ledger.Draft{ // its name is the last: a copy has it at the end
			Thread: "zebra", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "old"}},
		}))(t)
		time.Sleep(24 * time.Hour)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		stop()
		want := map[posthouse.ID]int{}
		for range 3 {
			want[d.ask().ID] = 1
		}
		copied := memstore.New()
		must.Get(transfer.CopyStore(t.Context(), d.store, copied, &transfer.CopyStoreOptions{Concurrency: 1}))(t)
		_, stop = d.start(d.open(failing(copied, 1, 0, 2)), e)
		stop()
		_, stop = d.start(d.open(copied), e)
		time.Sleep(time.Minute)
		stop()
		same(t, r.gates(), want)
	})
}

// After a copy of the store an endpoint goes on about where it was: the cursor is of the old store.
func TestAfterACopyAnEndpointGoesOnByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		want := map[posthouse.ID]int{}
		for range 10 {
			want[d.ask().ID] = 1
			time.Sleep(time.Hour)
		}
		stop()
		missed := d.ask()
		want[missed.ID] = 1
		copied := memstore.New()
		must.Get(transfer.CopyStore(t.Context(), d.store, copied, nil))(t)
		last := r.gates()
		for range 2 {
			_, stop = d.start(d.open(copied), e)
			time.Sleep(time.Minute)
			stop()
		}
		now := r.gates()
		if now[missed.ID] != 1 {
			t.Errorf("a gate opened before the copy was told %d times, want once", now[missed.ID])
		}
		twice := 0
		for id, n := range now {
			if n > 1 {
				twice++
			}
			if n > last[id]+1 {
				t.Errorf("gate %s was told %d times", id, n)
			}
		}
		if twice > 1 || len(now) != len(want) {
			t.Errorf("%d gates were told twice and %d in all, want the newest at most, of %d", twice, len(now), len(want))
		}
	})
}

// A thread that is imported is told of as it arrives, also once an endpoint has searched by time.
func TestAnImportIsToldAfterAScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		other := newDesk(t)
		old := other.ask()
		var file bytes.Buffer
		must.Get(transfer.Export(t.Context(), other.led, old.Thread, &file, nil))(t)
		time.Sleep(24 * time.Hour)
		r := &receiver{}
		e := notify.Endpoint{Name: "ops", Channel: r}
		_, stop := d.start(d.led, e)
		stop()
		d.start(d.led, e)
		time.Sleep(time.Hour)
		g := d.ask()
		time.Sleep(time.Minute)
		must.Get(transfer.Import(t.Context(), d.led, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Unverified: true}))(t)
		time.Sleep(time.Minute)
		same(t, r.gates(), map[posthouse.ID]int{g.ID: 1, old.ID: 1})
	})
}

// A keyed receiver has a secret, which cannot be read at times.
type keyed struct {
	receiver
	broken atomic.Bool
}

func (k *keyed) ApprovalKeys() ([][]byte, error) {
	if k.broken.Load() {
		return nil, posthouse.Invalid("secretFile", "has no secret")
	}
	return [][]byte{[]byte("secret")}, nil
}

// A secret that cannot be read holds the endpoint where it is in the log, and nothing is told twice.
func TestAnUnreadableSecretIsNoForeignCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		k := &keyed{}
		n := must.Get(notify.New(d.led, []notify.Endpoint{{Name: "ops", Channel: k, DecideFor: "alice"}}, &notify.Options{
			URL: "https://posthouse.example.com",
			Approve: func(context.Context, *notify.ApprovalRequest) (*notify.Approval, error) {
				return &notify.Approval{Token: "t"}, nil
			},
		}))(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		synctest.Wait()
		want := map[posthouse.ID]int{d.ask().ID: 1}
		time.Sleep(time.Second)
		k.broken.Store(true)
		want[d.ask().ID] = 1
		time.Sleep(10 * time.Second)
		if told := len(k.gates()); told != 1 {
			t.Errorf("%d gates were told without the secret, want the one before", told)
		}
		k.broken.Store(false)
		time.Sleep(10 * time.Second)
		same(t, k.gates(), want)
		stop()
		must.Do(t, <-done)
	})
}
