package hints

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// maxHintWait bounds the time before a hint that came too early is given again.
const maxHintWait = 10 * time.Second

// deliver puts the task of a hint on the board. The claim reads the gate, and finds out whether
// the hint tells the truth. Callers hold q.mu.
func (q *Queue) deliver(x hint.Delivery) {
	h := x.Hint()
	q.deliveries[h.Gate] = x
	if q.opt.IsClaimed(h.Gate) {
		return // it comes again, because this engine was silent
	}
	q.later.remove(h.Gate) // by another engine's clock it may be claimed
	q.board.AddHinted(h, q.opt.Now())
}

// ack tells the shared queue that a task needs no hint any more. Callers hold q.mu.
func (q *Queue) ack(gate posthouse.ID) {
	if x := q.deliveries[gate]; x != nil {
		delete(q.deliveries, gate)
		x.Ack()
	}
}

// nack has the shared queue give a hint to any engine after a time. Callers hold q.mu.
func (q *Queue) nack(gate posthouse.ID, wait time.Duration) {
	if x := q.deliveries[gate]; x != nil {
		delete(q.deliveries, gate)
		x.Later(wait)
	}
}

// Dead sends the hint of a task to the dead letters, because it does not tell the truth.
func (q *Queue) Dead(gate posthouse.ID, reason string) {
	q.mu.Lock()
	x := q.deliveries[gate]
	delete(q.deliveries, gate)
	q.mu.Unlock()
	if x != nil {
		x.Dead(reason)
	}
}

// Nack gives the hint of a claim back that has ended, unless the task is on the board or claimed
// again.
func (q *Queue) Nack(gate posthouse.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.board.Has(gate) && !q.opt.IsClaimed(gate) {
		q.nack(gate, 0)
	}
}

// Detach returns the hint of a claim, nil if it has no hint. The caller acks or nacks it.
func (q *Queue) Detach(gate posthouse.ID) hint.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.board.Has(gate) {
		return nil // the hint is that of the task there
	}
	x := q.deliveries[gate]
	delete(q.deliveries, gate)
	return x
}

// NackIdle gives hints to other engines that no worker here has claimed for a time, and says of
// the rest that they are in progress.
func (q *Queue) NackIdle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.opt.Now()
	for _, t := range q.board.TakeIdle(now, q.opt.Idle) {
		q.nack(t.Gate, min(max(t.NotBefore.Sub(now), 0), maxHintWait))
	}
	for gate, x := range q.deliveries {
		switch {
		case q.board.Has(gate), q.opt.IsClaimed(gate) && !q.opt.IsLost(gate):
			x.InProgress()
		case q.opt.IsLost(gate):
			q.ack(gate)
		default:
			q.nack(gate, 0)
		}
	}
}
