package worker

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// Pauses between calls that failed, the first and the longest.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// maxClaimers is how many calls wait for tasks at once.
const maxClaimers = 8

// A connection is a session with the engine, and what the worker has in it.
type connection struct {
	worker  *Worker
	session *task.Session
	lease   *lease
	ctx     context.Context // ends when the session is over
	end     context.CancelCauseFunc

	mu         sync.Mutex
	executions map[task.ClaimID]*execution
}

// Run connects to the engine and handles tasks until ctx ends. Where the engine cannot be
// reached it tries again. Then it takes no more tasks, lets handlers go on for
// Options.DrainTimeout, cancels them, and gives back what they leave. It returns nil, or
// an error when a handler did not heed its context, or the engine refuses this worker.
func (w *Worker) Run(ctx context.Context) error {
	w.mu.Lock()
	w.running = true
	hello := w.hello()
	w.mu.Unlock()
	if len(hello.Tasks) == 0 {
		return posthouse.Invalid("tasks", "has no handler: add one before Run")
	}
	places := make(chan struct{}, w.opt.Concurrency)
	var handlers sync.WaitGroup
	for pause := firstPause; ctx.Err() == nil; {
		session, err := w.engine.Connect(ctx, hello)
		if errors.Is(err, posthouse.ErrInvalid) || errors.Is(err, posthouse.ErrUnsupported) || errors.Is(err, posthouse.ErrForbidden) {
			return err
		}
		if err != nil {
			w.opt.Logger.Warn("cannot connect to the engine", "error", err)
			pause = rest(ctx, pause)
			continue
		}
		pause = firstPause
		if err := w.serve(ctx, session, places, &handlers); err != nil {
			w.opt.Logger.Warn("the session with the engine is over", "error", err)
		}
	}
	return w.leave(&handlers)
}

// serve handles tasks in one session, until that or ctx is over.
func (w *Worker) serve(ctx context.Context, session *task.Session, places chan struct{}, handlers *sync.WaitGroup) error {
	c := newConnection(ctx, w, session)
	defer c.lease.stop()
	var group sync.WaitGroup
	group.Go(c.keepAlive)
	claiming, stop := context.WithCancel(ctx)
	defer context.AfterFunc(c.ctx, stop)()
	for range min(w.opt.Concurrency, maxClaimers) {
		group.Go(func() { c.claimTasks(claiming, places, handlers) })
	}
	<-claiming.Done()
	if c.ctx.Err() == nil {
		c.drain(w.opt.DrainTimeout)
	}
	cause := context.Cause(c.ctx)
	stop()
	group.Wait()
	return cause
}

func newConnection(ctx context.Context, w *Worker, session *task.Session) *connection {
	c := &connection{worker: w, session: session, lease: newLease(session.Lease), executions: map[task.ClaimID]*execution{}}
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return c
}

// claimTasks claims tasks one after the other, each into a free place.
func (c *connection) claimTasks(ctx context.Context, places chan struct{}, handlers *sync.WaitGroup) {
	for pause := firstPause; ; {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		claim, err := c.claim(ctx)
		if claim == nil {
			<-places
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, posthouse.ErrNotFound):
				c.over(ErrLost)
				return
			case err != nil:
				if isAnswer(err) {
					c.worker.opt.Logger.Warn("cannot claim a task", "error", err)
				}
				pause = rest(ctx, pause)
			}
			continue
		}
		pause = firstPause
		e := c.begin(claim)
		handlers.Go(func() {
			defer func() { <-places }()
			defer c.finish(e)
			e.handle(c.worker.handlers[claim.Task])
		})
	}
}

// claim waits for a task, a lease longer than the engine does: it may be gone.
func (c *connection) claim(ctx context.Context) (*task.Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, c.session.Wait+c.session.Lease)
	defer cancel()
	return c.worker.engine.Claim(ctx, c.session.ID)
}

// begin notes an execution. Its context ends with the session.
func (c *connection) begin(claim *task.Claim) *execution {
	ctx, cancel := context.WithCancelCause(c.ctx)
	e := &execution{ctx: heldContext{ctx, c}, cancel: cancel, run: c, claim: claim}
	if claim.Timeout > 0 {
		timed, stop := context.WithTimeoutCause(ctx, claim.Timeout, ErrTimeout)
		e.ctx = heldContext{timed, c}
		context.AfterFunc(timed, stop)
	}
	e.records.e = e
	e.ctx = handler.With(effect.Traced(e.ctx), &e.records)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.executions[claim.ID] = e
	return e
}

func (c *connection) finish(e *execution) {
	e.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.executions, e.claim.ID)
}

func (c *connection) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.executions) == 0
}

// cancelAll cancels the executions.
func (c *connection) cancelAll(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.executions {
		e.cancel(cause)
	}
}

// keepAlive sends heartbeats until the session is over. It ends the session two thirds of
// a lease after the newest answered heartbeat began: the engine may give its tasks away
// soon.
func (c *connection) keepAlive() {
	every := max(c.session.Lease/6, time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	answers := make(chan error, 1)
	var asked *term // of the heartbeat that has no answer yet
	for {
		select {
		case err := <-answers:
			if err == nil {
				c.lease.renew(asked)
			} else {
				asked.stop()
			}
			asked = nil
			if errors.Is(err, posthouse.ErrNotFound) {
				c.over(ErrLost)
			}
		case <-tick.C:
			if asked == nil {
				asked = c.lease.begin()
				go func() { answers <- c.heartbeat() }()
			}
		case <-c.lease.end():
			c.over(ErrCutOff)
		case <-c.ctx.Done():
			if asked != nil {
				asked.stop()
				<-answers
			}
			return
		}
	}
}

// over ends the session and its executions.
func (c *connection) over(cause error) {
	c.cancelAll(cause)
	c.end(cause)
}

// heartbeat sends one, and cancels what it says is lost.
func (c *connection) heartbeat() error {
	ctx, cancel := context.WithTimeout(c.ctx, c.session.Lease/3)
	defer cancel()
	c.mu.Lock()
	have := slices.Collect(maps.Keys(c.executions))
	c.mu.Unlock()
	pulse, err := c.worker.engine.Heartbeat(ctx, c.session.ID, have)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range pulse.Lost {
		if e := c.executions[id]; e != nil {
			e.cancel(ErrLost)
		}
	}
	return nil
}

// drain lets the executions end, then cancels them, and ends the session.
func (c *connection) drain(grace time.Duration) {
	c.await(grace)
	c.cancelAll(ErrStopping)
	c.await(grace)
	ctx, cancel := context.WithTimeout(c.ctx, c.session.Lease)
	defer cancel()
	if err := c.worker.engine.Disconnect(ctx, c.session.ID); err != nil {
		c.worker.opt.Logger.Warn("cannot end the session: its tasks go to others when the lease is over", "error", err)
	}
	c.over(ErrStopping)
}

// await waits until nothing is executed, but not longer than d.
func (c *connection) await(d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !c.idle() {
		select {
		case <-look.C:
		case <-over.C:
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// leave waits for handlers of sessions that are over.
func (w *Worker) leave(handlers *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(w.opt.DrainTimeout):
		return errors.New("worker: a handler goes on though its context has ended; nothing that it still does counts")
	}
}

// repeat calls the engine until it has answered, or ctx is over.
func (c *connection) repeat(ctx context.Context, call func(context.Context) error) error {
	for pause := firstPause; ; {
		c.check()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, c.session.Lease)
			defer cancel()
			return call(ctx)
		}()
		if err == nil || isAnswer(err) {
			return err
		}
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		pause = rest(ctx, pause)
	}
}

// isAnswer reports whether an error is the engine's answer: another call would have the same.
func isAnswer(err error) bool {
	var e *posthouse.Error
	return errors.As(err, &e) && e.Code != posthouse.CodeUnavailable && e.Code != posthouse.CodeUnknown && e.Code != posthouse.CodeBusy && e.Code != posthouse.CodeFull
}

// rest waits for a pause, and returns the next one.
func rest(ctx context.Context, pause time.Duration) time.Duration {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
	return min(2*pause, longestPause)
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}
