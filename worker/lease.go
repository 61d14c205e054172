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

	mu   sync.Mutex
	held *term
	past bool
}

// A term is the time that an answered heartbeat gives.
type term struct {
	limit *time.Timer // is over with it; only isOver receives from it
	alarm *time.Timer // wakes who waits for its end
}

func (t *term) stop() {
	t.limit.Stop()
	t.alarm.Stop()
}

func newLease(session time.Duration) *lease {
	l := &lease{d: session * 2 / 3}
	l.held = l.begin()
	return l
}

// begin starts the term that renew takes once the heartbeat that begins now is answered.
func (l *lease) begin() *term { return &term{time.NewTimer(l.d), time.NewTimer(l.d)} }

// renew takes a term. A lease that is over stays so.
func (l *lease) renew(asked *term) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held.stop()
	l.held = asked
}

// end returns a channel that receives when the term may be over. The receiver then
// asks isOver.
func (l *lease) end() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held.alarm.C
}

// isOver reports whether the lease is over.
func (l *lease) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.held.limit.C: // it looks at the clock
		l.past = true
	default:
	}
	return l.past
}

func (l *lease) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held.stop()
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
