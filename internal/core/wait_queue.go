package core

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Ticket is a place in the line of those in this process that wait for a
// thread: first come, first served. Whoever takes one must call
// [Ticket.Claim] or [Ticket.Leave], or those behind it wait for ever.
type Ticket struct {
	ledger *Core
	thread string
	turn   chan struct{} // it may be its turn, or the thread may be free
}

// waitQueues are the lines of a Ledger, by thread.
type waitQueues struct {
	mu sync.Mutex
	of map[string][]*Ticket
}

// NewTicket takes a place for a thread: the last, or with first the one before all
// others. [ledger.Ledger.Claim] does not heed the line.
func (c *Core) NewTicket(thread string, first bool) *Ticket {
	p := &Ticket{ledger: c, thread: thread, turn: make(chan struct{}, 1)}
	q := &c.lines
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of == nil {
		q.of = map[string][]*Ticket{}
	}
	if first {
		q.of[thread] = slices.Insert(q.of[thread], 0, p)
	} else {
		q.of[thread] = append(q.of[thread], p)
	}
	return p
}

// Claim waits for its turn and for the thread to be free, claims it as
// [ledger.Ledger.Claim] does, and leaves the line. Whenever its turn has come and
// somebody has the thread, busy is called with who that is; its error ends the
// wait. A holder in another process is looked for again and again, each second
// or twice in the time of a lease if that is shorter. Errors are those of
// [ledger.Ledger.Claim] but for [posthouse.ErrBusy], and the context's.
func (p *Ticket) Claim(ctx context.Context, run string, busy func(*posthouse.Error) error) (*Claim, error) {
	defer p.Leave()
	for {
		wait := (<-chan time.Time)(nil)
		if p.isFirst() {
			c, err := p.ledger.Claim(ctx, p.thread, run)
			var e *posthouse.Error
			if !errors.Is(err, posthouse.ErrBusy) || !errors.As(err, &e) {
				return c, err
			}
			if err := busy(e); err != nil {
				return nil, err
			}
			if e.Lease.Owner != p.ledger.Config.Owner {
				wait = time.After(min(time.Second, p.ledger.Config.LeaseTTL/2))
			}
		}
		select {
		case <-p.turn:
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Leave gives the place up. Leaving twice does nothing.
func (p *Ticket) Leave() {
	q := &p.ledger.lines
	q.mu.Lock()
	defer q.mu.Unlock()
	line := slices.DeleteFunc(q.of[p.thread], func(o *Ticket) bool { return o == p })
	if len(line) == 0 {
		delete(q.of, p.thread)
		return
	}
	q.of[p.thread] = line
	line[0].wake()
}

func (p *Ticket) isFirst() bool {
	q := &p.ledger.lines
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.of[p.thread]
	return len(line) > 0 && line[0] == p
}

// wake has the place look again.
func (p *Ticket) wake() {
	select {
	case p.turn <- struct{}{}:
	default:
	}
}

// wakeFirst tells the first in line that nobody in this process has the thread.
func (q *waitQueues) wakeFirst(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if line := q.of[thread]; len(line) > 0 {
		line[0].wake()
	}
}
