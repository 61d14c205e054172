package runner

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A queue holds the threads to be moved. Each is moved by one goroutine at a
// time; at most limit are moved at once.
type queue struct {
	limit int
	move  func(ctx context.Context, thread string, forced []string) outcome

	mu      sync.Mutex
	ctx     context.Context // of workers; nil before start
	stopped bool
	jobs    map[string]*job
	ready   []string
	workers int
	idle    chan struct{} // closed when it has stopped and the last worker left
	waiters map[string][]chan struct{}
	sweeps  uint64
}

// A job is what the queue knows of a thread. Most threads have no job.
type job struct {
	queued, running bool
	again           bool          // something happened while it was running
	forced          []string      // branches to resume that do not run by themselves
	pause           time.Duration // before the next try, doubled each time
	timer           *time.Timer   // runs during the pause
	last            outcome
	seen            uint64 // the last sweep that found it
}

// An outcome is the result of moving a thread.
type outcome struct {
	again  bool          // there is more to do at once
	retry  time.Duration // if set, try again after a pause that grows up to this
	tail   uint64        // if set, nothing moved, nor will before the log goes on from here
	resign bool          // with tail: because its programs are not ours
	err    error         // of a forced move that left nothing in the log
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

func (q *queue) init(limit int, move func(context.Context, string, []string) outcome) {
	q.limit, q.move = limit, move
	q.jobs, q.waiters, q.idle = map[string]*job{}, map[string][]chan struct{}{}, make(chan struct{})
}

// start lets workers begin; they get ctx.
func (q *queue) start(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ctx = ctx
	for range min(q.limit, len(q.ready)) {
		q.hire()
	}
}

// stop ends the queue. The channel is closed when the last worker has left.
func (q *queue) stop() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped, q.ready = true, nil
	for thread, j := range q.jobs {
		j.queued, j.forced = false, nil
		j.wake()
		q.wakeWaiters(thread)
	}
	if q.workers == 0 {
		close(q.idle)
	}
	return q.idle
}

func (q *queue) active() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.workers
}

// push takes a hint: something happened to the thread.
func (q *queue) push(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(thread)
}

// found pushes a thread that a sweep found. It skips one that pauses, or that moved
// nowhere from this end of its log before. One that is left by a process that is gone
// pauses no longer.
func (q *queue) found(thread string, tail uint64, left bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.job(thread)
	j.seen = q.sweeps
	if (j.timer == nil || left) && !j.running && (j.last.tail == 0 || j.last.tail != tail) {
		q.add(thread)
	}
}

// swept ends a complete sweep. It forgets threads at rest that neither this sweep
// nor the one before found.
func (q *queue) swept() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for thread, j := range q.jobs {
		if j.seen+1 < q.sweeps && !j.busy() {
			delete(q.jobs, thread)
		}
	}
	q.sweeps++
}

// force pushes a branch that does not run by itself. It returns false if
// nothing is begun.
func (q *queue) force(thread, branch string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx == nil || q.stopped {
		return false
	}
	j := q.job(thread)
	j.forced, j.last.err = append(j.forced, branch), nil
	q.add(thread)
	return true
}

func (q *queue) job(thread string) *job {
	j := q.jobs[thread]
	if j == nil {
		j = &job{seen: q.sweeps}
		q.jobs[thread] = j
	}
	return j
}

func (q *queue) add(thread string) {
	if q.stopped {
		return
	}
	j := q.job(thread)
	switch {
	case j.queued:
	case j.running:
		j.again = true
	default:
		j.wake()
		j.queued = true
		q.ready = append(q.ready, thread)
		q.hire()
	}
}

// wake ends a pause.
func (j *job) wake() {
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
}

func (j *job) busy() bool { return j.queued || j.running || j.timer != nil }

func (q *queue) hire() {
	if q.ctx != nil && q.workers < q.limit {
		q.workers++
		go q.work()
	}
}

// work moves threads until the queue is empty.
func (q *queue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && len(q.ready) > 0 {
		thread := q.ready[0]
		q.ready = q.ready[1:]
		j := q.jobs[thread]
		forced := j.forced
		j.queued, j.running, j.again, j.forced = false, true, false, nil
		q.mu.Unlock()
		out := q.move(q.ctx, thread, forced)
		q.mu.Lock()
		q.finish(thread, j, out)
	}
	if q.workers--; q.workers == 0 && q.stopped {
		close(q.idle)
	}
}

func (q *queue) finish(thread string, j *job, out outcome) {
	j.running, j.last = false, out
	if out.retry == 0 {
		j.pause = 0
	}
	switch {
	case q.stopped:
	case j.again, out.again, len(j.forced) > 0:
		q.add(thread)
	case out.retry > 0:
		j.pause = min(max(2*j.pause, firstPause), out.retry)
		j.timer = time.AfterFunc(j.pause, func() { q.push(thread) })
	case out.tail == 0 && out.err == nil:
		delete(q.jobs, thread)
	}
	q.wakeWaiters(thread)
}

// heard wakes those who wait for news of a thread: something was written to it, perhaps
// by another process.
func (q *queue) heard(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeWaiters(thread)
}

// wakeWaiters wakes those who wait for news of a thread.
func (q *queue) wakeWaiters(thread string) {
	for _, c := range q.waiters[thread] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// listen returns a channel that is sent to each time a thread was moved, until
// the function is called.
func (q *queue) listen(thread string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters[thread] = append(q.waiters[thread], c)
	return c, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiters[thread] = slices.DeleteFunc(q.waiters[thread], func(d chan struct{}) bool { return d == c })
		if len(q.waiters[thread]) == 0 {
			delete(q.waiters, thread)
		}
	}
}

// about returns whether a thread is queued, being moved or pausing, and the outcome of its
// last move. It also says whether the queue has stopped.
func (q *queue) about(thread string) (busy bool, last outcome, stopped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j := q.jobs[thread]; j != nil {
		busy, last = j.busy(), j.last
	}
	return busy, last, q.stopped
}
