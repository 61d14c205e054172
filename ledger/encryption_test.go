package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// TestEncryptionTravels: a copy of an encrypted store is one, a thread in the
// clear comes into an encrypted store by a decision on record only, and one that
// is sealed makes the store it comes to an encrypted one.
func TestEncryptionTravels(t *testing.T) {
	ctx := context.Background()
	sealed, plain := memstore.New(), memstore.New()
	ring := keyring(t, "k1")
	must.Get(over(t, sealed, ring).Save(ctx, posthouse.Root("s", opaque(t, "secret")), nil))(t)
	must.Get(over(t, plain, nil).Save(ctx, posthouse.Root("p", opaque(t, "plain")), nil))(t)
	encrypted := func(s posthouse.Store) bool {
		return must.Get(crypt.Status(ctx, over(t, s, nil)))(t).Encrypted
	}

	empty := memstore.New()
	must.Get(transfer.CopyStore(ctx, sealed, empty, nil))(t)
	if !encrypted(empty) || encrypted(plain) {
		t.Error("the copy of an encrypted store is not, or a plain one is")
	}
	if done, err := transfer.CopyStore(ctx, plain, empty, nil); !errors.Is(err, posthouse.ErrSealed) || done != nil {
		t.Errorf("a plain store into an encrypted one: %+v, %v", done, err)
	}

	var file bytes.Buffer
	must.Get(transfer.Export(ctx, over(t, plain, nil), "p", &file, nil))(t)
	for _, l := range []*ledger.Ledger{over(t, sealed, ring), over(t, sealed, nil)} {
		if _, err := transfer.Import(ctx, l, bytes.NewReader(file.Bytes()), nil); !errors.Is(err, posthouse.ErrSealed) {
			t.Errorf("a thread in the clear into an encrypted store: %v", err)
		}
	}
	must.Get(transfer.Import(ctx, over(t, sealed, ring), bytes.NewReader(file.Bytes()), &transfer.ImportOptions{
		Clear: &posthouse.ClearDecision{By: "ann", Reason: "public data"},
	}))(t)
	e := must.Get(crypt.Status(ctx, over(t, sealed, nil)))(t)
	if !e.Encrypted || len(e.Decisions) != 1 || e.Decisions[0].Thread != "p" {
		t.Errorf("on record: %+v", e)
	}

	file.Reset()
	must.Get(transfer.Export(ctx, over(t, sealed, ring), "s", &file, nil))(t)
	must.Get(transfer.Import(ctx, over(t, plain, nil), bytes.NewReader(file.Bytes()), nil))(t)
	if !encrypted(plain) {
		t.Error("a store with a sealed thread is not marked")
	}
}

// TestPlainLedgerNotices that the store is encrypted by now: within a second of
// its clock, though it wrote in the clear before.
func TestPlainLedgerNotices(t *testing.T) {
	ctx := context.Background()
	s, now := memstore.New(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := must.Get(ledger.Open(s, &ledger.Options{Now: func() time.Time { return now }}))(t)
	must.Get(l.Save(ctx, posthouse.Root("p", opaque(t, 1)), nil))(t)
	must.Get(over(t, s, keyring(t, "k1")).Save(ctx, posthouse.Root("s", opaque(t, 2)), nil))(t)
	now = now.Add(time.Second)
	if _, err := l.Save(ctx, posthouse.Root("q", opaque(t, 3)), nil); !errors.Is(err, posthouse.ErrSealed) {
		t.Errorf("it goes on in the clear: %v", err)
	}
}

// TestStoreIsLookedThroughOnce by a Ledger without a Cipher, however many commit first.
func TestStoreIsLookedThroughOnce(t *testing.T) {
	s := &lookedThrough{Store: memstore.New()}
	l := must.Get(ledger.Open(s, nil))(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := l.Save(t.Context(), posthouse.Root(fmt.Sprint("t", i), opaque(t, i)), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.times.Load(); n != 1 {
		t.Errorf("it was looked through %d times", n)
	}
}

// lookedThrough counts how often all threads of a store are read.
type lookedThrough struct {
	posthouse.Store
	times atomic.Int32
}

func (s *lookedThrough) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if q == (posthouse.ThreadQuery{}) {
		s.times.Add(1)
		runtime.Gosched() // let others begin
	}
	return s.Store.Threads(ctx, q)
}
