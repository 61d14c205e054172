package dispatch

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// An openTask is a task that nobody here has claimed.
type openTask struct {
	gate   posthouse.ID
	thread string
	name   string
	group  string
	since  time.Time // when it may be claimed, as its gate says
	ready  time.Time // since, or when its claim elsewhere is looked at again
	place  int       // in its queue, -1 while it is in none
	paused bool      // until since
	later  bool      // the queue that engines share is told of it then; it is among those
	away   bool      // a worker of another process had it when it was looked at
	doubt  doubt     // whether that worker knows of it

	delivery hint.Delivery // of the hint that told of it; nil: no queue did
	touched  time.Time     // when the delivery came, or is looked at again
}

// line returns where a task waits.
func (t *openTask) line() line { return line{t.name, t.group} }

// isBefore reports whether a task is to be claimed before another one.
func (t *openTask) isBefore(o *openTask) bool {
	return cmp.Or(t.ready.Compare(o.ready), cmp.Compare(t.gate, o.gate)) < 0
}

// A queue holds the tasks of one line, the first that is ready at the front.
type queue []*openTask

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return q[i].isBefore(q[j])
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements [heap.Interface].
func (q *queue) Push(x any) {
	t := x.(*openTask)
	t.place = len(*q)
	*q = append(*q, t)
}

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q, t.place = (*q)[:last], -1
	return t
}

// add notes an open task, or tells the queue that engines share of it; then it returns true.
// With again, the queue may have forgotten it.
func (d *Dispatcher) add(g *posthouse.Gate, again bool) bool {
	if g.Decision != nil || g.Call == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cursor = max(d.cursor, g.ID)
	if d.open[g.ID] != nil || d.held[g.ID] != nil {
		return false
	}
	t := &openTask{gate: g.ID, thread: g.Thread, name: g.Call.Task, group: g.Call.Group, ready: g.Call.NotBefore, place: -1, paused: g.Call.Paused != ""}
	if t.since = t.ready; t.since.Before(g.CreatedAt) {
		t.since = g.CreatedAt
	}
	if d.hints.up {
		return d.tell(t, again)
	}
	d.open[g.ID] = t
	d.enqueue(t)
	return false
}

// enqueue puts a task into its queue. Callers hold d.mu.
func (d *Dispatcher) enqueue(t *openTask) {
	q := d.queues[t.line()]
	if q == nil {
		q = &queue{}
		d.queues[t.line()] = q
	}
	heap.Push(q, t)
	d.recount(t.name, t.gate)
	d.wake()
}

// unqueue takes a task out of its queue, if it is in one. Callers hold d.mu.
func (d *Dispatcher) unqueue(t *openTask) {
	switch {
	case t.place < 0:
	case t.later:
		heap.Remove(&d.hints.later, t.place)
		t.later = false
	default:
		q := d.queues[t.line()]
		heap.Remove(q, t.place)
		if q.Len() == 0 {
			delete(d.queues, t.line())
		}
	}
}

// strike forgets an open task that is in no queue any more. Callers hold d.mu.
func (d *Dispatcher) strike(t *openTask) {
	delete(d.open, t.gate)
	d.recount(t.name, t.gate)
}

// wake has all that wait for a task look again. Callers hold d.mu.
func (d *Dispatcher) wake() {
	close(d.news)
	d.news = make(chan struct{})
}

// drop forgets a task whose gate was decided or removed. A session that has it is told.
func (d *Dispatcher) drop(gate posthouse.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.open[gate]; t != nil {
		d.unqueue(t)
		d.strike(t)
		if t.delivery != nil {
			t.delivery.Ack()
			t.delivery = nil
		}
	}
	if h := d.held[gate]; h != nil {
		d.lose(h)
		if h.delivery != nil {
			h.delivery.Ack()
			h.delivery = nil
		}
	}
}

// next takes the first task out of its queue that a session may have at a time. It looks at
// the front of each of the session's lines, however many wait there or elsewhere. Without one
// it says when there is one, zero for not known, and a channel that is closed when a
// task comes.
func (d *Dispatcher) next(s *session, now time.Time) (t *openTask, ready time.Time, news <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var best *openTask
	for _, l := range s.lines() {
		q := d.queues[l]
		if q == nil || d.isFull(l.task) {
			continue
		}
		if first := (*q)[0]; best == nil || first.isBefore(best) {
			best = first
		}
	}
	if best == nil {
		return nil, time.Time{}, d.news
	}
	if now.Before(best.ready) {
		return nil, best.ready, d.news
	}
	d.unqueue(best)
	d.recount(best.name, best.gate)
	return best, now, nil
}
