package posthouse

import (
	"log/slog"
	"sync/atomic"
)

// An AsyncObserver tells an Observer on a goroutine of its own, so that a slow
// one holds up nobody. Make one with [Async].
type AsyncObserver struct {
	*Observer // for Options.Observer; it never blocks

	queue   chan func()
	stop    chan struct{}
	done    chan struct{}
	dropped atomic.Int64
}

// Async returns an observer that puts events in a queue of at most size, at
// least 1, and tells obs of them in their order. An event that finds the queue
// full is dropped and counted. A panic of obs is logged to [slog.Default] and
// swallowed.
func Async(obs *Observer, size int) *AsyncObserver {
	a := &AsyncObserver{queue: make(chan func(), max(size, 1)), stop: make(chan struct{}), done: make(chan struct{})}
	a.Observer = through(obs, func(f func(ObserverEvent), e ObserverEvent) {
		select {
		case <-a.stop:
			a.dropped.Add(1)
			return
		default:
		}
		select {
		case a.queue <- func() { f(e) }:
		default:
			a.dropped.Add(1)
		}
	})
	go a.run()
	return a
}

// Dropped returns how many events were not told so far, since the queue was
// full or the observer closed.
func (a *AsyncObserver) Dropped() int64 { return a.dropped.Load() }

// Close tells what is queued and ends the goroutine. It is called once, after
// the Ledger is closed: later events are dropped.
func (a *AsyncObserver) Close() {
	close(a.stop)
	<-a.done
}

func (a *AsyncObserver) run() {
	defer close(a.done)
	for {
		select {
		case f := <-a.queue:
			tell(f)
		case <-a.stop:
			for {
				select {
				case f := <-a.queue:
					tell(f)
				default:
					return
				}
			}
		}
	}
}

func tell(f func()) {
	defer func() {
		if p := recover(); p != nil {
			slog.Default().Error("an observer panicked", "panic", p)
		}
	}()
	f()
}
