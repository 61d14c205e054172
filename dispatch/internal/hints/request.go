package hints

import (
	"time"

	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task/hint"
)

// takeWait is how long a request for hints stays open.
const takeWait = 5 * time.Second

// Request has the shared queue asked for what one call waits for, until done is called. So an
// engine has hints for as many tasks as its workers have room for, and others have the rest.
func (q *Queue) Request(keys []board.QueueKey) (done func()) {
	if q.shared == nil {
		return func() {}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range keys {
		q.waiting[key]++
		q.request(key)
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, key := range keys {
			q.waiting[key]--
			if q.waiting[key] == 0 {
				delete(q.waiting, key)
			}
		}
	}
}

// request asks the shared queue for hints of a queue for which more calls wait than hints are
// here or on the way. Callers hold q.mu.
func (q *Queue) request(key board.QueueKey) {
	if !q.up || q.ctx.Err() != nil || q.board.IsFull(key.Task) {
		return
	}
	n := q.waiting[key] - q.requested[key]
	if n > 0 {
		n -= q.board.CountHinted(key)
	}
	if n <= 0 {
		return
	}
	q.requested[key] += n
	opened := q.opened
	q.group.Go(func() { q.take(key, n, opened) })
}

// take takes n hints from the shared queue, which has come up so many times.
func (q *Queue) take(key board.QueueKey, n, opened int) {
	demand := hint.Demand{Task: key.Task, Group: key.Group, N: n, Wait: takeWait, Lease: q.opt.Lease, Most: q.opt.Limits[key.Task]}
	err := q.shared.Take(q.ctx, demand, func(x hint.Delivery) {
		q.mu.Lock()
		defer q.mu.Unlock()
		n--
		q.reduceRequested(key, 1)
		q.deliver(x)
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reduceRequested(key, n)
	if err == nil || opened != q.opened { // or it has been away since, and is back
		q.request(key)
		return
	}
	select {
	case q.broken <- err:
	default:
	}
}

// reduceRequested subtracts n from the hints that are still to come. Callers hold q.mu.
func (q *Queue) reduceRequested(key board.QueueKey, n int) {
	q.requested[key] -= n
	if q.requested[key] <= 0 {
		delete(q.requested, key)
	}
}
