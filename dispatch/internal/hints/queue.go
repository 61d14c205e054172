package hints

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task/hint"
)

// Options are needed by a [Queue], all of them.
type Options struct {
	Now    func() time.Time
	Lease  time.Duration  // for which this engine may be silent about a hint
	Idle   time.Duration  // after which a hint that no call here has claimed is given back
	Poll   time.Duration  // before the first attempt to use a queue that is away
	Limits map[string]int // how many tasks of a name all engines together may have
	Logger *slog.Logger

	IsClaimed func(gate posthouse.ID) bool // whether a session here has a task
	IsLost    func(gate posthouse.ID) bool // whether it has, but the task's gate is decided
}

// A Queue is this engine's end of the shared queue.
type Queue struct {
	shared hint.Queue // nil: there is no such queue
	board  *board.Board
	opt    Options

	relist chan struct{} // has one element if all open tasks are to be listed
	news   chan struct{} // has one element if there is something to publish
	broken chan error    // has why the shared queue cannot be used

	mu     sync.Mutex
	ctx    context.Context // ends with Run
	group  *sync.WaitGroup // of goroutines that Run waits for
	up     bool            // the shared queue can be used
	opened int             // how often it came up

	waiting    map[board.QueueKey]int // calls that wait here
	requested  map[board.QueueKey]int // hints that were requested and have not come
	deliveries map[posthouse.ID]hint.Delivery

	fresh     []hint.Hint // to publish
	again     []hint.Hint // to publish, also if the shared queue heard of them in the last minutes
	later     laterHeap   // tasks to publish when they may be claimed
	published map[board.QueueKey]Published
}

// New returns an engine's end of a queue, which may be nil. The tasks that may be claimed here
// go to the board.
func New(shared hint.Queue, b *board.Board, o Options) *Queue {
	return &Queue{
		shared: shared, board: b, opt: o,
		relist: make(chan struct{}, 1), news: make(chan struct{}, 1), broken: make(chan error, 1),
		waiting: map[board.QueueKey]int{}, requested: map[board.QueueKey]int{}, deliveries: map[posthouse.ID]hint.Delivery{},
		later: newLaterHeap(), published: map[board.QueueKey]Published{},
	}
}

// Relist has an element when all open tasks are to be listed and offered again: the shared queue
// has come up or gone away.
func (q *Queue) Relist() <-chan struct{} { return q.relist }

// Offer gives an open task to the shared queue while that is up, otherwise to the board. It does
// nothing for a task that is known or claimed here. Again says that the shared queue may have
// forgotten the task. Offer reports whether the task is published now: it may be claimed, and
// the shared queue is up.
func (q *Queue) Offer(t *board.Task, again bool) (published bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.opt.IsClaimed(t.Gate) || q.later.has(t.Gate) || q.board.Has(t.Gate) {
		return false
	}
	if q.up {
		return q.publish(t, again)
	}
	q.board.Add(t)
	return false
}

// Remove takes a task from the board that a call here had taken. Its hint stays with the claim,
// if there is one.
func (q *Queue) Remove(t *board.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.board.Remove(t) && !q.opt.IsClaimed(t.Gate) {
		q.ack(t.Gate)
	}
}

// Drop forgets a task and its hint, after its gate was decided or removed.
func (q *Queue) Drop(gate posthouse.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.later.remove(gate)
	q.board.Drop(gate)
	q.ack(gate)
}

// signal puts an element into a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
