package core

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Ticket is a place in this process's queue for a thread: first come, first served.
// Each ticket needs a [Ticket.Claim] or a [Ticket.Leave]; otherwise those after it
// wait forever.
type Ticket struct {
	ledger *Core
	thread string
	turn   chan struct{} // sent when it may be its turn, or the thread may be free
}

type waitQueues struct {
	mu sync.Mutex
	of map[string][]*Ticket
}

// NewTicket takes the last place in a thread's queue, or with first the foremost.
// [ledger.Ledger.Claim] ignores the queue.
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
// [ledger.Ledger.Claim] does, and leaves the queue. When its turn has come and another
// run has the thread, it calls busy with that run's error; an error of busy ends the
// wait. It looks for a holder in another process each [Config.RenewEvery]. It fails as [ledger.Ledger.Claim] does, except with
// [posthouse.ErrBusy], or as the context does.
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
				wait = time.After(p.ledger.Config.RenewEvery())
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

// Leave gives up the place. A second Leave does nothing.
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

func (p *Ticket) wake() {
	select {
	case p.turn <- struct{}{}:
	default:
	}
}

// wakeFirst wakes the first in the queue after a run of this process has freed the
// thread.
func (q *waitQueues) wakeFirst(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if line := q.of[thread]; len(line) > 0 {
		line[0].wake()
	}
}
