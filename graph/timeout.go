package graph

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
)

// Heartbeat tells that a node is alive: NodeOptions.IdleTimeout counts from the
// last one. Steps, questions and everything a node streams count as heartbeats,
// too. Outside a node it does nothing.
func Heartbeat(ctx context.Context) {
	if t, ok := engine.From(ctx); ok {
		t.Heartbeat()
	}
}

// grace is how long a node whose time is up may take to heed its context.
const grace = time.Second

// limits are those of an attempt.
type limits struct {
	timeout, idleTimeout time.Duration // 0: none
	sub                  bool          // it is a subgraph's, which is not given up as a whole
}

// limits returns those of a task: what it was sent with, or its node's.
func (t *task[S]) limits() limits {
	o := &t.node.opt
	return limits{cmp.Or(t.Timeout, o.Timeout), cmp.Or(t.IdleTimeout, o.IdleTimeout), t.node.sub != nil}
}

// isBounded reports whether a task may have to be given up: for its own limits or
// those of a node around its graph.
func (t *task[S]) isBounded() bool {
	r := t.run
	l := t.limits()
	return r.opt.bounded || l.timeout > 0 || l.idleTimeout > 0
}

// runLimited runs a node within its time limits, and those of subgraphs around it.
// One that does not heed its context is given up: what it still does has no
// effect on the run.
func (t *task[S]) runLimited(ctx context.Context, o *outcome[S], l limits, run func(context.Context, *Command) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watchdog{limits: l, name: o.task.node.name, cancel: cancel}
	w.start()
	defer w.stop()
	o.exec.Active(w.beat)

	lead := &Command{} // of its own: the task may go on without it
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, lead) }()
	end := func(err error) error {
		o.lead = *lead
		return w.cause(err)
	}
	select {
	case err := <-ended:
		return end(err)
	case <-ctx.Done():
	}
	if l.sub { // its nodes are given up one by one
		err := <-ended
		if err == nil && w.expired() != nil { // the last of them did not heed its context, but ended
			o.program, err = nil, context.Cause(ctx)
		}
		return end(err)
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-ended:
		return end(err)
	case <-late.C:
	}
	if e := w.expired(); e != nil {
		e.Abandoned = true
		return e
	}
	return givenUp{context.Cause(ctx)}
}

// A givenUp is why the context ended of a node that did not heed it.
type givenUp struct{ error }

func (e givenUp) Unwrap() error { return e.error }

// A watchdog ends a node's context when its time is up.
type watchdog struct {
	limits
	name   string
	cancel context.CancelCauseFunc

	mu          sync.Mutex
	whole, idle *time.Timer
	fired       *TimeoutError
}

func (w *watchdog) start() {
	if d := w.timeout; d > 0 {
		w.whole = time.AfterFunc(d, func() { w.fire(&TimeoutError{Node: w.name, After: d}) })
	}
	if d := w.idleTimeout; d > 0 {
		w.idle = time.AfterFunc(d, func() { w.fire(&TimeoutError{Node: w.name, After: d, Idle: true}) })
	}
}

func (w *watchdog) fire(e *TimeoutError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired == nil {
		w.fired = e
		w.cancel(e)
	}
}

func (w *watchdog) beat() {
	if w.idle != nil {
		w.idle.Reset(w.idleTimeout)
	}
}

func (w *watchdog) stop() {
	for _, t := range []*time.Timer{w.whole, w.idle} {
		if t != nil {
			t.Stop()
		}
	}
}

func (w *watchdog) expired() *TimeoutError {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired == nil {
		return nil
	}
	e := *w.fired
	return &e
}

// cause is what a node's error comes from: an error after the time was up is
// the timeout's.
func (w *watchdog) cause(err error) error {
	if e := w.expired(); e != nil && err != nil {
		e.Abandoned = errors.As(err, new(givenUp))
		return e
	}
	return err
}
