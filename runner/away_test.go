package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// cut is a store that takes no heartbeat while it is away.
type cut struct {
	posthouse.Store
	away atomic.Bool
}

// Slot implements [posthouse.Store].
func (c *cut) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if c.away.Load() {
		return mute{c.Store}.Slot(ctx, key, op)
	}
	return c.Store.Slot(ctx, key, op)
}

// TestStoreAwayBeforeAStep: a process that may have lost its thread, and cannot ask, ends its
// run. The thread has not failed, and goes on once the store is back.
func TestStoreAwayBeforeAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &cut{Store: memstore.New()}
		p := &program{name: "p", l: open(t, store, "a"), last: 2}
		paid, tries := 0, 0
		p.node = func(ctx context.Context, _ string, n int) error {
			if n != 1 {
				return nil
			}
			task, _ := engine.From(ctx)
			do := func(name string, paid *int) error {
				_, err := task.Do(ctx, name, 0, func(context.Context) (posthouse.Value, error) {
					*paid++
					return posthouse.Value{Codec: "raw"}, nil
				})
				return err
			}
			if err := do("look", new(int)); err != nil {
				return err
			}
			if tries++; tries == 1 {
				store.away.Store(true)
				sleep(time.Minute)
			}
			err := do("pay", &paid)
			store.away.Store(false)
			return err
		}
		p.start(t, "t")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		sleep(10 * time.Minute)
		if s := status(t, p.l, "t"); s != posthouse.StatusDone || paid != 1 || tries != 2 {
			t.Errorf("it is %s; paid %d times in %d tries", s, paid, tries)
		}
	})
}
