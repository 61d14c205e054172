package board

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// AddHinted puts a task into its queue that the shared queue gave to this engine. One that is on
// the board already becomes such a task.
func (b *Board) AddHinted(h hint.Hint, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[h.Gate]
	if t == nil {
		t = fromHint(h)
		b.tasks[t.Gate] = t
		b.enqueue(t)
	}
	t.hinted, t.touched = true, now
}

// IsHinted reports whether the shared queue gave a task to this engine.
func (b *Board) IsHinted(t *Task) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return t.hinted
}

// CountHinted counts the hinted tasks of a queue, without those that a worker elsewhere has.
func (b *Board) CountHinted(key QueueKey) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[key]
	if q == nil {
		return 0
	}
	for _, t := range *q {
		if t.hinted && !t.away {
			n++
		}
	}
	return n
}

// TakeUnhinted removes and returns the tasks that this engine found by itself, except those that
// are taken.
func (b *Board) TakeUnhinted() (all []*Task) {
	return b.takeQueued(func(t *Task) bool { return !t.hinted })
}

// TakeIdle removes and returns the hinted tasks that stayed in their queue for a time.
func (b *Board) TakeIdle(now time.Time, idle time.Duration) []*Task {
	return b.takeQueued(func(t *Task) bool { return t.hinted && now.Sub(t.touched) >= idle })
}

func (b *Board) takeQueued(is func(*Task) bool) (all []*Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tasks {
		if t.index >= 0 && is(t) {
			b.remove(t)
			all = append(all, t)
		}
	}
	return all
}

// Unhint returns the gates of the hinted tasks in queues, which stay there without their hint.
func (b *Board) Unhint() (gates []posthouse.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tasks {
		if t.hinted && t.index >= 0 {
			t.hinted = false
			gates = append(gates, t.Gate)
		}
	}
	return gates
}
