package graph

import (
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
)

// Heartbeat tells that a node is alive: NodeOptions.IdleTimeout counts from the
// last one. Steps, questions and everything a node streams count as heartbeats,
// too. Outside a node it does nothing.
func Heartbeat(ctx context.Context) {
	if t, ok := engine.From(ctx); ok {
		t.Beat()
	}
}

// grace is how long a node whose time is up may take to heed its context.
const grace = time.Second

// limited runs a node within its time limits. One that does not heed its
// context is given up: what it still does has no effect on the run.
func (r *run[S]) limited(ctx context.Context, o *outcome[S], run func(context.Context) (Command, error)) (Command, error) {
	t := o.task
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watchdog{opt: &t.node.opt, name: t.node.name, cancel: cancel}
	w.start()
	defer w.stop()
	o.exec.Active(w.beat)

	type end struct {
		cmd Command
		err error
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		e.cmd, e.err = run(ctx)
		ended <- e
	}()
	select {
	case e := <-ended:
		return e.cmd, w.cause(e.err)
	case <-ctx.Done():
	}
	if t.node.sub != nil { // its nodes are given up one by one, if they have limits
		e := <-ended
		return e.cmd, w.cause(e.err)
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case e := <-ended:
		return e.cmd, w.cause(e.err)
	case <-late.C:
	}
	if e := w.expired(); e != nil {
		e.Abandoned = true
		return Command{}, e
	}
	return Command{}, context.Cause(ctx)
}

// A watchdog ends a node's context when its time is up.
type watchdog struct {
	opt    *NodeOptions
	name   string
	cancel context.CancelCauseFunc

	mu          sync.Mutex
	whole, idle *time.Timer
	fired       *TimeoutError
}

func (w *watchdog) start() {
	if d := w.opt.Timeout; d > 0 {
		w.whole = time.AfterFunc(d, func() { w.fire(&TimeoutError{Node: w.name, After: d}) })
	}
	if d := w.opt.IdleTimeout; d > 0 {
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
		w.idle.Reset(w.opt.IdleTimeout)
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
		return e
	}
	return err
}
