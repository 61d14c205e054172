package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/hint"
)

// A breaking is a queue that gives nothing. The first calls of Take fail one after the other,
// later ones wait.
type breaking struct {
	mu    sync.Mutex
	fail  []time.Duration // after so long
	asked int             // for so many hints by calls that wait
}

func (*breaking) Open(context.Context) error                        { return nil }
func (*breaking) Publish(context.Context, bool, ...hint.Hint) error { return nil }

func (q *breaking) Take(ctx context.Context, d hint.Demand, _ func(hint.Delivery)) error {
	q.mu.Lock()
	q.asked += d.N
	wait := time.Hour
	if len(q.fail) > 0 {
		wait, q.fail = q.fail[0], q.fail[1:]
	}
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.asked -= d.N
	}()
	select {
	case <-time.After(wait):
		return errors.New("the queue is away")
	case <-ctx.Done():
		return nil
	}
}

// TestHintsAreRequestedAgain: it comes back before all calls that it broke have ended. For each claim
// that waits it is asked once more.
func TestHintsAreRequestedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := ledger.Open(memstore.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		q := &breaking{fail: []time.Duration{time.Second, 4 * time.Second}}
		d, err := dispatch.New(l, &dispatch.Options{Hints: q})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		defer group.Wait()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		group.Go(func() { _ = d.Run(ctx) })
		s, err := d.Connect(ctx, task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"fetch"}, Concurrency: 2})
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() { beat(ctx, d, s.ID) })
		synctest.Wait()
		for range 2 {
			group.Go(func() { _, _ = d.Claim(ctx, s.ID) })
			synctest.Wait()
		}
		<-time.After(10 * time.Second)
		synctest.Wait()
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.asked != 2 {
			t.Errorf("the queue is asked for %d hints, and 2 claims wait", q.asked)
		}
	})
}
