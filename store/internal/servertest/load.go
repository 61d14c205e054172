package servertest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// WriteUntil has several threads, t0 and on, written at once until stop is closed, and
// returns how many entries each got acknowledged. An unknown outcome is settled by asking
// again. each is called after each entry, with how many there are in all.
func WriteUntil(t storetest.TB, s posthouse.Store, threads int, stop <-chan struct{}, each func(total int64)) []int {
	t.Helper()
	b, counts := storetest.NewBuilder(), make([]int, threads)
	var total, unknown atomic.Int64
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			l := b.Log(fmt.Sprint("t", i))
			for {
				select {
				case <-stop:
					return
				default:
				}
				batch := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", []byte("result")))
				err := s.Append(t.Context(), batch)
				for ; errors.Is(err, posthouse.ErrUnknown) && !t.Failed(); err = s.Append(t.Context(), batch) {
					unknown.Add(1)
				}
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				l.Took(batch)
				counts[i]++
				each(total.Add(1))
			}
		})
	}
	wg.Wait()
	t.Logf("%d entries, %d unknown outcomes that were asked again", total.Load(), unknown.Load())
	return counts
}

// Interrupt calls interrupt so many times while several threads are written at once: after
// each every-th entry, if the call before it has returned. It returns how many entries each
// thread got acknowledged.
func Interrupt(t storetest.TB, s posthouse.Store, threads, every, times int, interrupt func()) []int {
	t.Helper()
	stop, next := make(chan struct{}), make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for range times {
			select {
			case <-next:
				interrupt()
			case <-t.Context().Done():
				return
			}
		}
	})
	counts := WriteUntil(t, s, threads, stop, func(total int64) {
		if total%int64(every) == 0 {
			select {
			case next <- struct{}{}:
			default:
			}
		}
	})
	wg.Wait()
	return counts
}

// WantWritten wants sound logs of the threads that [WriteUntil] wrote.
func WantWritten(t storetest.TB, s Store, counts []int) {
	t.Helper()
	for i, n := range counts {
		WantSound(t, s, fmt.Sprint("t", i), n)
	}
}
