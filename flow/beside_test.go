package flow_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestTwoLedgersBesideEachOther: of two Ledgers over one handle, neither takes
// for dead what the other runs, so that no step function runs twice while each
// tries to go on with the other's threads.
func TestTwoLedgersBesideEachOther(t *testing.T) {
	store := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil))(t)
	defer store.Close()
	const threads, steps = 40, 5
	var calls [threads][steps]atomic.Int32
	begun := make([]chan struct{}, threads)
	for i := range begun {
		begun[i] = make(chan struct{}, steps)
	}
	order := flow.New("order", func(ctx context.Context, n int) (int, error) {
		for i := range steps {
			if _, err := step.Do(ctx, fmt.Sprint("s", i), func(context.Context) (int, error) {
				begun[n] <- struct{}{}
				return int(calls[n][i].Add(1)), nil
			}); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	a := must.Get(order.Open(must.Get(ledger.Open(store, nil))(t), nil))(t)
	b := must.Get(order.Open(must.Get(ledger.Open(store, nil))(t), nil))(t)
	var wg sync.WaitGroup
	for n := range threads {
		thread := fmt.Sprint("t", n)
		wg.Go(func() {
			if _, err := a.Run(t.Context(), thread, n, flow.RunOptions{}); err != nil {
				t.Errorf("thread %s: %v", thread, err)
			}
		})
		wg.Go(func() {
			for range steps {
				<-begun[n]
				if _, err := b.Resume(t.Context(), thread); err != nil &&
					!errors.Is(err, posthouse.ErrBusy) && !errors.Is(err, posthouse.ErrNotFound) && !errors.Is(err, posthouse.ErrConflict) {
					t.Errorf("thread %s beside: %v", thread, err)
				}
			}
		})
	}
	wg.Wait()
	for n := range calls {
		for i := range calls[n] {
			if c := calls[n][i].Load(); c != 1 {
				t.Errorf("thread %d: step %d ran %d times", n, i, c)
			}
		}
	}
}
