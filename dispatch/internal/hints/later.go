package hints

import (
	"cmp"
	"container/heap"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
)

// A laterHeap has tasks that may not be claimed yet, by gate and by time.
type laterHeap struct {
	tasks map[posthouse.ID]*laterTask
	order laterOrder
}

type laterTask struct {
	*board.Task
	index int // in the order
}

func newLaterHeap() laterHeap { return laterHeap{tasks: map[posthouse.ID]*laterTask{}} }

func (l *laterHeap) has(gate posthouse.ID) bool { return l.tasks[gate] != nil }

func (l *laterHeap) add(t *board.Task) {
	x := &laterTask{Task: t}
	l.tasks[t.Gate] = x
	heap.Push(&l.order, x)
}

// first returns the task that may be claimed first, nil if there is no task.
func (l *laterHeap) first() *board.Task {
	if len(l.order) == 0 {
		return nil
	}
	return l.order[0].Task
}

func (l *laterHeap) remove(gate posthouse.ID) {
	if x := l.tasks[gate]; x != nil {
		delete(l.tasks, gate)
		heap.Remove(&l.order, x.index)
	}
}

// takeAll removes and returns all tasks.
func (l *laterHeap) takeAll() (all []*board.Task) {
	for _, x := range l.order {
		all = append(all, x.Task)
	}
	*l = newLaterHeap()
	return all
}

// A laterOrder is a [heap.Interface].
type laterOrder []*laterTask

func (o laterOrder) Len() int { return len(o) }

func (o laterOrder) Less(i, j int) bool {
	return cmp.Or(o[i].NotBefore.Compare(o[j].NotBefore), cmp.Compare(o[i].Gate, o[j].Gate)) < 0
}

func (o laterOrder) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].index, o[j].index = i, j
}

func (o *laterOrder) Push(x any) {
	t := x.(*laterTask)
	t.index = len(*o)
	*o = append(*o, t)
}

func (o *laterOrder) Pop() any {
	last := len(*o) - 1
	t := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return t
}
