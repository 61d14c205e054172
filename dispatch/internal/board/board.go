package board

import (
	"container/heap"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Board has the open tasks of an engine, in queues.
type Board struct {
	limits map[string]int // how many tasks of a name may be claimed at once

	mu     sync.Mutex
	tasks  map[posthouse.ID]*Task // by gate
	queues map[QueueKey]*queue    // those that are not empty
	busy   busyCount
	news   chan struct{} // closed when there may be something to claim
	newest posthouse.ID  // gate that was seen
}

// New returns an empty board. Limits bound how many tasks of a name are claimed at once; a name
// that they leave out has no bound.
func New(limits map[string]int) *Board {
	return &Board{
		limits: limits, tasks: map[posthouse.ID]*Task{}, queues: map[QueueKey]*queue{}, busy: busyCount{}, news: make(chan struct{}),
	}
}

// Add puts a task into its queue. It reports false for one that is on the board already.
func (b *Board) Add(t *Task) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks[t.Gate] != nil {
		return false
	}
	b.tasks[t.Gate] = t
	b.enqueue(t)
	return true
}

// Has reports whether a task is on the board, in a queue or taken.
func (b *Board) Has(gate posthouse.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tasks[gate] != nil
}

// Next takes the first task that may be claimed now out of one of the queues. It looks at the
// front of each, however many tasks wait there or elsewhere. If there is no such task, it
// returns the time at which one is ready, zero if that is not known, and a channel that is
// closed when a task comes.
func (b *Board) Next(keys []QueueKey, now time.Time) (t *Task, ready time.Time, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var best *Task
	for _, key := range keys {
		q := b.queues[key]
		if q == nil || b.isFull(key.Task) {
			continue
		}
		if first := (*q)[0]; best == nil || first.isBefore(best) {
			best = first
		}
	}
	if best == nil {
		return nil, time.Time{}, b.news
	}
	if now.Before(best.ready) {
		return nil, best.ready, b.news
	}
	b.dequeue(best)
	b.setBusy(best.Queue.Task, best.Gate, claiming)
	return best, now, nil
}

// Requeue puts a task that was taken back into its queue, to be tried again at a time. Away
// says that a worker at another engine has it. A task that was dropped stays so.
func (b *Board) Requeue(t *Task, ready time.Time, away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks[t.Gate] != t {
		return
	}
	t.ready, t.touched = ready, ready
	t.away = t.away || away
	b.setIdle(t.Queue.Task, t.Gate, claiming)
	b.enqueue(t)
}

// Remove forgets a task that was taken: it was claimed, or is gone. It reports false for one
// that was dropped before.
func (b *Board) Remove(t *Task) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks[t.Gate] != t {
		return false
	}
	b.remove(t)
	return true
}

// Drop forgets a task by its gate, taken or not. It reports whether the task was on the board.
func (b *Board) Drop(gate posthouse.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[gate]
	if t != nil {
		b.remove(t)
	}
	return t != nil
}

// See notes a gate that a list of all gates has named.
func (b *Board) See(gate posthouse.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.newest = max(b.newest, gate)
}

// Newest returns the newest gate that was seen, "" if there was no gate.
func (b *Board) Newest() posthouse.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.newest
}

// Wake has all that wait for a task call Next again.
func (b *Board) Wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake()
}

func (b *Board) wake() {
	close(b.news)
	b.news = make(chan struct{})
}

// enqueue puts a task into its queue.
func (b *Board) enqueue(t *Task) {
	q := b.queues[t.Queue]
	if q == nil {
		q = &queue{}
		b.queues[t.Queue] = q
	}
	heap.Push(q, t)
	b.wake()
}

// dequeue takes a task out of its queue, if it is in it.
func (b *Board) dequeue(t *Task) {
	if t.index < 0 {
		return
	}
	q := b.queues[t.Queue]
	heap.Remove(q, t.index)
	if q.Len() == 0 {
		delete(b.queues, t.Queue)
	}
}

// remove forgets a task.
func (b *Board) remove(t *Task) {
	b.dequeue(t)
	delete(b.tasks, t.Gate)
	b.setIdle(t.Queue.Task, t.Gate, claiming)
}
