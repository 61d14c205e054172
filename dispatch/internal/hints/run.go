package hints

import (
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse/dispatch/internal/board"
)

// openPause bounds the time between attempts to use a queue that is away, unless Poll is longer.
const openPause = 10 * time.Second

// Start uses the shared queue until ctx ends, in goroutines of a group. Before it returns the
// queue has been tried once, so that an engine which starts does not begin without it.
func (q *Queue) Start(ctx context.Context, group *sync.WaitGroup) {
	if q.shared == nil {
		return
	}
	q.mu.Lock()
	q.ctx, q.group = ctx, group
	q.mu.Unlock()
	err := q.shared.Open(ctx)
	if err == nil {
		q.setUp()
	}
	group.Go(func() {
		defer q.leave()
		q.run(ctx, err)
	})
}

// run publishes tasks until ctx ends. While the shared queue is away, for which err is the
// reason, it is tried again and again.
func (q *Queue) run(ctx context.Context, err error) {
	for said, pause := false, q.opt.Poll; ; {
		if err == nil {
			said, pause = false, q.opt.Poll
			err = q.publishAll(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		q.setDown()
		if !said {
			q.opt.Logger.Warn("tasks are found without a queue", "error", err)
		}
		said = true
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, max(openPause, q.opt.Poll))
		err = q.shared.Open(ctx)
		if err == nil {
			q.opt.Logger.Info("tasks are found by the queue again")
			q.setUp()
		}
	}
}

// setUp hands the tasks that this engine found by itself to the shared queue: other engines may
// have workers for them.
func (q *Queue) setUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.up = true
	q.opened++
	select {
	case <-q.broken: // it was
	default:
	}
	for _, t := range q.board.TakeUnhinted() {
		q.publish(t, true)
	}
	signal(q.relist) // others may have heard of more
	q.board.Wake()   // calls that wait request hints
}

// setDown falls back to the board for all tasks. Hints received earlier stay valid.
func (q *Queue) setDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.up {
		return
	}
	q.up, q.fresh, q.again = false, nil, nil
	for _, t := range q.later.takeAll() {
		q.board.Add(t)
	}
	q.published = map[board.QueueKey]Published{}
	signal(q.relist)
}

// leave gives the hints back that no worker here has claimed.
func (q *Queue) leave() {
	q.setDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, gate := range q.board.Unhint() {
		q.nack(gate, 0)
	}
}
