package sign_test

import (
	"context"
	"iter"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestVerifyAfterRestartAndRotation is conformance test 19: the chain verifies
// offline, with the public keys alone, after restarts and with the key rotated;
// anything changed is found.
func TestVerifyAfterRestartAndRotation(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		store := memstore.New()
		restartAndRotate(t, func() posthouse.Store { return store }, func() {})
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "posthouse.db")
		var store *sqlitestore.Store
		closeIt := func() {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
		restartAndRotate(t, func() posthouse.Store {
			store = must.Get(sqlitestore.Open(t.Context(), path, nil))(t)
			return store
		}, closeIt)
	})
}

// restartAndRotate closes and opens a store between each two steps.
func restartAndRotate(t *testing.T, open func() posthouse.Store, shut func()) {
	path := filepath.Join(t.TempDir(), "signing.key")
	first := must.Get(sign.LoadOrCreate(path))(t)
	f := fillInto(t, open(), first)
	rotate := func() *sign.Key {
		return must.Get(sign.Rotate(path, &sign.RotateOptions{Now: f.clock.Now, Overlap: time.Minute}))(t)
	}
	restart := func() {
		shut()
		f.store = open()
		f.clock.now = f.clock.now.Add(time.Hour)
	}
	second := rotate()
	restart()
	restarted := openLedger(t, f.store, must.Get(sign.LoadOrCreate(path))(t), f.clock.Now)
	for range 4 {
		f.clock.now = f.clock.now.Add(time.Second)
		save(t, restarted, "order-1", "after the rotation")
	}
	rotate()
	restart()

	ring := must.Get(sign.LoadRing(path + sign.PublicSuffix))(t)
	r := verify(t, f.store, ring, &sign.VerifyOptions{RequireSigned: true})
	wantClean(t, r)
	if len(r.Keys) != 2 || r.Keys[0].Valid == 0 || r.Keys[1].Valid == 0 || !r.Keys[0].Known || !r.Keys[1].Known {
		t.Errorf("keys %+v", r.Keys)
	}

	// Without the first key its signatures are unverifiable, the others valid
	// and covering what is before them.
	r = verify(t, f.store, ringOf(t, second), nil)
	wantFault(t, r, sign.FaultUnknownKey, "order-1", 0)
	for _, k := range r.Keys {
		if known := k.ID == second.KeyID(); k.Known != known || (k.Valid > 0) != known {
			t.Errorf("key %+v", k)
		}
	}

	// The retired key goes on signing: a process that was not restarted, or a
	// thief.
	late := openLedger(t, f.store, first, f.clock.Now)
	save(t, late, "order-1", "with the old key")
	r = verify(t, f.store, ring, nil)
	wantFault(t, r, sign.FaultKeyTime, "order-1", uint64(len(readAll(f.store, "order-1"))))

	for i := range readAll(f.store, "order-1") {
		s := mutate(f.store, "order-1", func(es []*posthouse.Entry) []*posthouse.Entry {
			es[i].Header[len(es[i].Header)/2] ^= 8
			return es
		})
		wantFault(t, verify(t, s, ring, nil), "", "order-1", uint64(i+1))
	}
	shut()
}

// A growing store gets an entry whenever it is asked for a summary, so that a
// verification never sees it rest.
type growing struct {
	posthouse.Store
	grow func()
	mu   sync.Mutex
}

func (g *growing) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for i, err := range g.Store.Threads(ctx, q) {
			if !yield(i, err) {
				break
			}
		}
		if g.mu.TryLock() { // threads are verified several at once
			g.grow()
			g.mu.Unlock()
		}
	}
}

// TestVerifyBesideAWriter verifies a thread that grows, loses checkpoints and
// goes away while it is being verified.
func TestVerifyBesideAWriter(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	n := 0
	s := &growing{Store: f.store, grow: func() {
		c := save(t, f.ledger, "hand", "more")
		if n++; n%2 == 0 {
			must.Get(retain.Delete(t.Context(), f.ledger, c.ID, nil))(t)
		}
	}}
	wantClean(t, verify(t, s, ringOf(t, key), nil))
	if n == 0 {
		t.Error("nothing was written meanwhile")
	}
	s.grow = func() {
		if _, err := f.ledger.Thread(t.Context(), "hand"); err == nil {
			must.Get(retain.DeleteThread(t.Context(), f.ledger, "hand", nil))(t)
		}
	}
	wantClean(t, verify(t, s, ringOf(t, key), nil))
	s.grow = func() {
		must.Get(f.store.Remove(t.Context(), posthouse.Removal{Thread: "hand", All: true}))(t)
	}
	wantClean(t, verify(t, s, ringOf(t, key), nil))
}

func TestVerifyStopsWhenAsked(t *testing.T) {
	f := fillStore(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sign.Verify(ctx, f.store, nil, nil); err == nil {
		t.Error("a cancelled verification has a report")
	}
}
