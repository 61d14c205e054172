package groupcommit

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrAborted is the error of a group's callers if its run panicked or ended its
// goroutine. The outcome of their work is unknown.
var ErrAborted = errors.New("groupcommit: the group's run did not return")

// A Call is the work of one caller and, once its group ran, the outcome.
type Call[T any] struct {
	Work T
	Err  error

	cost    int
	wake    chan bool // true: lead the next group; false: done
	leading bool      // chosen to lead; guarded by Queue.mu
}

// A Queue groups calls. Its methods may be called at once from many goroutines.
type Queue[T any] struct {
	run     func([]*Call[T])
	cost    func(T) int
	maxCost int
	calls   sync.Pool

	mu      sync.Mutex
	busy    bool // somebody leads
	waiting []*Call[T]
	spare   []*Call[T] // a slice to reuse
}

// New returns a queue that runs groups with a summed cost of at most maxCost;
// work that costs as much alone runs alone. run is never called concurrently,
// gets the calls in the order they arrived, and sets the Err of those that
// failed. When run panics, the panic goes on in the caller who led the group, the
// others in it get [ErrAborted], and the queue serves those who come next.
func New[T any](maxCost int, cost func(T) int, run func(group []*Call[T])) *Queue[T] {
	q := &Queue[T]{run: run, cost: cost, maxCost: maxCost}
	q.calls.New = func() any { return &Call[T]{wake: make(chan bool, 1)} }
	return q
}

// Do returns when a group with the work in it has run, with the work's error.
// If ctx ends before the work was taken into a group, it is not run and the
// context's error is returned.
func (q *Queue[T]) Do(ctx context.Context, work T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := q.calls.Get().(*Call[T])
	c.Work, c.Err, c.leading, c.cost = work, nil, false, q.cost(work)

	q.mu.Lock()
	q.waiting = append(q.waiting, c)
	lead := !q.busy
	q.busy = true
	q.mu.Unlock()

	if !lead {
		var err error
		lead, err = q.wait(ctx, c)
		if err != nil {
			return err
		}
	}
	if lead {
		q.lead(c)
	}
	err := c.Err
	var none T
	c.Work = none
	q.calls.Put(c)
	return err
}

// wait returns when c is done or is to lead. If ctx ends before c was taken into a
// group it returns the context's error.
func (q *Queue[T]) wait(ctx context.Context, c *Call[T]) (lead bool, err error) {
	over := ctx.Done()
	if over == nil {
		return <-c.wake, nil // costs half of a select
	}
	select {
	case lead = <-c.wake:
		return lead, nil
	case <-over:
		if q.withdraw(c) {
			return false, ctx.Err()
		}
		return <-c.wake, nil
	}
}

// withdraw takes c out of the queue unless it is in a group or chosen to lead.
func (q *Queue[T]) withdraw(c *Call[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if c.leading || i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// lead runs the group at the head of the queue, which c belongs to, and then has the
// next caller lead.
func (q *Queue[T]) lead(c *Call[T]) {
	group, returned := q.nextGroup(), false
	defer func() {
		if !returned {
			for _, f := range group {
				f.Err = ErrAborted
			}
		}
		q.handOn(c, group)
	}()
	q.run(group)
	returned = true
}

// handOn wakes the caller who leads next, then those of the group that c led.
func (q *Queue[T]) handOn(c *Call[T], group []*Call[T]) {
	q.mu.Lock()
	if len(q.waiting) > 0 {
		next := q.waiting[0]
		next.leading = true
		next.wake <- true
	} else {
		q.busy = false
	}
	q.mu.Unlock()

	for _, f := range group {
		if f != c {
			f.wake <- false
		}
	}
	clear(group)
	q.mu.Lock()
	q.spare = group[:0]
	q.mu.Unlock()
}

func (q *Queue[T]) nextGroup() []*Call[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, sum := 0, 0
	for n < len(q.waiting) {
		sum += q.waiting[n].cost
		if n > 0 && sum > q.maxCost {
			break
		}
		n++
	}
	group, rest := q.waiting[:n], q.waiting[n:]
	q.waiting = append(q.spare, rest...)
	q.spare = nil
	clear(rest)
	return group
}
