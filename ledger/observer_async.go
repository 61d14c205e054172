package ledger

import (
	"log/slog"
	"sync/atomic"

	"github.com/posthouse/posthouse"
)

// An AsyncObserver calls an Observer on its own goroutine, so that a slow one delays
// no commit. Make one with [Async], and set Options.Observer to its Observe.
type AsyncObserver struct {
	observer posthouse.Observer
	queue    chan posthouse.Operation
	stop     chan struct{}
	done     chan struct{}
	dropped  atomic.Int64
}

// Async starts an observer with a queue of size operations, at least 1. It calls
// o in their order. An operation that finds the queue full is dropped and counted.
// A panic of o is logged to [slog.Default] and swallowed.
func Async(o posthouse.Observer, size int) *AsyncObserver {
	a := &AsyncObserver{observer: o, queue: make(chan posthouse.Operation, max(size, 1)), stop: make(chan struct{}), done: make(chan struct{})}
	go a.run()
	return a
}

// Observe is an [posthouse.Observer] that never blocks.
func (a *AsyncObserver) Observe(op posthouse.Operation) {
	select {
	case <-a.stop:
		a.dropped.Add(1)
		return
	default:
	}
	select {
	case a.queue <- op:
	default:
		a.dropped.Add(1)
	}
}

// Dropped returns how many operations were dropped so far, because the queue was
// full or the observer closed.
func (a *AsyncObserver) Dropped() int64 { return a.dropped.Load() }

// Close calls the observer for the queued operations and ends the goroutine. Call it
// once, after closing the Ledger: later operations are dropped.
func (a *AsyncObserver) Close() {
	close(a.stop)
	<-a.done
}

func (a *AsyncObserver) run() {
	defer close(a.done)
	for {
		select {
		case op := <-a.queue:
			a.call(op)
		case <-a.stop:
			for {
				select {
				case op := <-a.queue:
					a.call(op)
				default:
					return
				}
			}
		}
	}
}

func (a *AsyncObserver) call(op posthouse.Operation) {
	defer func() {
		if p := recover(); p != nil {
			slog.Default().Error("an observer panicked", "operation", op.Kind, "thread", op.Thread, "panic", p)
		}
	}()
	a.observer(op)
}
