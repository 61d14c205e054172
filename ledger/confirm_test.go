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

// A slowStore takes a time for each write, and counts those to threads.
type slowStore struct {
	posthouse.Store
	wait    atomic.Int64
	entries atomic.Int64
}

func (s *slowStore) pause() { <-time.After(time.Duration(s.wait.Load())) }

// Append implements [posthouse.Store].
func (s *slowStore) Append(ctx context.Context, b *posthouse.Batch) error {
	s.entries.Add(1)
	s.pause()
	return s.Store.Append(ctx, b)
}

// Slot implements [posthouse.Store].
func (s *slowStore) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb != posthouse.SlotGet {
		s.pause()
	}
	return s.Store.Slot(ctx, key, op)
}

// TestConfirmIsBounded: while each write takes longer than the lease, no claim is sure. Confirm
// says so after ten writes, and succeeds once the store is fast again.
func TestConfirmIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: memstore.New()}
		l := must.Get(ledger.Open(store, nil))(t)
		defer func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
		claim := must.Get(l.Claim(t.Context(), "t", "r"))(t)
		must.Get(l.Commit(t.Context(), &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}}}))(t)
		<-time.After(100 * time.Millisecond)
		store.wait.Store(int64(5 * time.Second))
		<-time.After(10 * time.Second)
		store.entries.Store(0)
		if err := claim.Confirm(t.Context()); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("while the store is slow: %v, want ErrUnavailable", err)
		}
		if n := store.entries.Load(); n != 10 {
			t.Errorf("the claim was recorded %d times, want 10", n)
		}
		store.wait.Store(0)
		<-time.After(10 * time.Second)
		if err := claim.Confirm(t.Context()); err != nil {
			t.Errorf("once it is fast: %v", err)
		}
	})
}
