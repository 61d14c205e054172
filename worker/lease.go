package worker

import (
	"context"
	"sync"
	"time"
)

// A lease is how long the worker may go on without an answer to a heartbeat.
//
// A process that was frozen goes on in the middle of anything, before the goroutine that
// waits for the end of the lease. So whoever is about to do something for a task asks the
// lease itself.
type lease struct {
	d time.Duration // two thirds of the session's

	mu    sync.Mutex
	limit *time.Timer // when it is over
	past  bool
}

func newLease(session time.Duration) *lease {
	l := &lease{d: session * 2 / 3}
	l.limit = l.begin()
	return l
}

// begin starts the time that renew takes once the heartbeat that begins now is answered.
func (l *lease) begin() *time.Timer { return time.NewTimer(l.d) }

func (l *lease) renew(asked *time.Timer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit.Stop()
	l.limit = asked
}

// end returns a channel that gets something when the lease is over, if nobody asks before.
func (l *lease) end() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit.C
}

// isOver reports whether the lease is over.
func (l *lease) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.limit.C: // it looks at the clock
		l.past = true
	default:
	}
	return l.past
}

func (l *lease) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit.Stop()
}

// A heldContext is the context of an execution: Err looks at the lease.
type heldContext struct {
	context.Context
	run *connection
}

func (c heldContext) Err() error {
	c.run.check()
	return c.Context.Err()
}

// check ends the session if its lease is over.
func (c *connection) check() {
	if c.lease.isOver() {
		c.over(ErrCutOff)
	}
}
