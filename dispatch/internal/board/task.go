package board

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// A QueueKey names a queue: tasks of a name, for one group of workers or, with "", for all.
type QueueKey struct{ Task, Group string }

// KeyOf returns the queue of a call.
func KeyOf(c *posthouse.TaskCall) QueueKey { return QueueKey{c.Task, c.Group} }

// A Task is an open gate of kind task that no session here is known to have.
type Task struct {
	Gate      posthouse.ID
	Thread    string
	Queue     QueueKey
	NotBefore time.Time // when it may be claimed, as its gate says
	Paused    bool      // by its handler or an operator, until NotBefore

	// Probes say when to ask whether a worker elsewhere knows of its claim. They belong to the
	// call of Claim that has taken the task.
	Probes Probes

	// The board's lock guards the rest.
	ready   time.Time // when it is tried: NotBefore, or later after an attempt
	index   int       // in its queue, -1 while it is in no queue
	away    bool      // a worker at another engine had it when it was tried
	hinted  bool      // the shared queue gave it to this engine
	touched time.Time // when the hint came, or when the task is tried again
}

// FromGate returns the task of an open gate.
func FromGate(g *posthouse.Gate) *Task {
	t := &Task{
		Gate: g.ID, Thread: g.Thread, Queue: KeyOf(g.Call), NotBefore: g.Call.NotBefore, Paused: g.Call.Paused != "",
		ready: g.Call.NotBefore, index: -1,
	}
	if t.NotBefore.Before(g.CreatedAt) {
		t.NotBefore = g.CreatedAt
	}
	return t
}

// fromHint returns the task that a hint tells of.
func fromHint(h hint.Hint) *Task {
	return &Task{Gate: h.Gate, Thread: h.Thread, Queue: QueueKey{h.Task, h.Group}, NotBefore: h.NotBefore, ready: h.NotBefore, index: -1}
}

// Hint returns what other engines are told of a task.
func (t *Task) Hint() hint.Hint {
	return hint.Hint{Gate: t.Gate, Thread: t.Thread, Task: t.Queue.Task, Group: t.Queue.Group, NotBefore: t.NotBefore}
}

// isBefore reports whether a task is to be claimed before another one.
func (t *Task) isBefore(o *Task) bool {
	return cmp.Or(t.ready.Compare(o.ready), cmp.Compare(t.Gate, o.Gate)) < 0
}

// A queue holds the tasks of one key, the first that is ready at the front. It is a
// [container/heap.Interface].
type queue []*Task

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool { return q[i].isBefore(q[j]) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	t := x.(*Task)
	t.index = len(*q)
	*q = append(*q, t)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	t.index = -1
	return t
}
