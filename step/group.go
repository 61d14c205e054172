package step

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// DefaultConcurrency is how many steps of a [Group] run at once.
const DefaultConcurrency = 16

// GroupOptions refine a [Group]. Nil is the zero value.
type GroupOptions struct {
	Concurrency int // steps that run at once; default [DefaultConcurrency]
	Options         // of each step
}

// A Group runs steps beside each other, below a node, flow or handler. Each is a step
// like any other: recorded by itself as soon as it is done, and never run again. A step
// that fails stops no other.
//
// A replay must begin the same steps in the same order; they may end in any order. Steps
// may ask questions and sleep: the others go on, and all their questions are open at
// once.
type Group struct {
	ctx   context.Context
	opt   GroupOptions
	slots chan struct{}
	wg    sync.WaitGroup

	mu   sync.Mutex
	errs []error  // of the steps in their order; nil where a step did not fail
	told []func() // tell the steps that failed that their errors are received
}

// NewGroup returns an empty group. ctx is what the node, flow or handler was
// given; a Concurrency below 0 counts as 1.
func NewGroup(ctx context.Context, o *GroupOptions) *Group {
	g := &Group{ctx: engine.Beside(ctx)}
	if o != nil {
		g.opt = *o
	}
	g.slots = make(chan struct{}, max(1, cmp.Or(g.opt.Concurrency, DefaultConcurrency)))
	return g
}

// A Future is the result of a step of a group.
type Future[T any] struct {
	done  chan struct{}
	value T
	err   error
	call  *engine.Call // nil if it did not begin
}

// Get waits for the step and returns what [DoWith] would.
func (f *Future[T]) Get() (T, error) {
	<-f.done
	f.receive()
	return f.value, f.err
}

// Value waits for the step and returns its result, the zero T if it failed.
func (f *Future[T]) Value() T {
	<-f.done
	f.receive()
	return f.value
}

// receive tells that the code of the group has the step's error.
func (f *Future[T]) receive() {
	if f.call != nil {
		f.call.Receive(f.err)
	}
}

// Go begins a step of the group. It waits while Limit steps run, and returns when the step
// has begun. Call it from the goroutine that runs the node, flow or handler, and do not
// return before [Group.Wait] did.
func Go[T any](g *Group, name string, fn func(context.Context) (T, error)) *Future[T] {
	f := &Future[T]{done: make(chan struct{})}
	place := g.place()
	o := g.opt.Options
	c, err := beginCall(g.ctx, name, &o, fn == nil, true)
	if err != nil {
		f.complete(g, place, err)
		return f
	}
	f.call = c
	if v, ok := c.Recorded(); ok {
		f.value, err = decode[T](name, v, &o)
		f.complete(g, place, err)
		return f
	}
	g.slots <- struct{}{}
	g.wg.Go(func() {
		defer func() { <-g.slots }()
		err := engine.Guard(func() error {
			v, err := run(g.ctx, c, name, &o, fn)
			if err == nil {
				f.value, err = decode[T](name, v, &o)
			}
			return err
		})
		f.complete(g, place, err)
	})
	return f
}

func (f *Future[T]) complete(g *Group, place int, err error) {
	f.err = err
	if err != nil {
		g.mu.Lock()
		g.errs[place] = err
		g.told = append(g.told, f.receive)
		g.mu.Unlock()
	}
	close(f.done)
}

func (g *Group) place() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.errs = append(g.errs, nil)
	return len(g.errs) - 1
}

// Wait waits until all steps of the group have ended and returns their errors,
// joined in their order. If any step waits for an answer, that is
// [posthouse.ErrWaiting]: return it.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, receive := range g.told {
		receive()
	}
	g.told = nil
	return errors.Join(g.errs...)
}

// Map runs a step for each item, beside each other, and returns the results in the
// order of the items. The n-th item is the n-th use of the name: keep the order of the
// items, and append new ones. Where a step failed the result is the zero R; the joined
// errors are returned with the results.
func Map[T, R any](ctx context.Context, name string, items []T, fn func(context.Context, T) (R, error), o ...GroupOptions) ([]R, error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, posthouse.Invalid("fn", "of step %s is nil", name)
	}
	g := NewGroup(ctx, &opt)
	futures := make([]*Future[R], len(items))
	for i := range items {
		futures[i] = Go(g, name, func(ctx context.Context) (R, error) { return fn(ctx, items[i]) })
	}
	err = g.Wait()
	results := make([]R, len(items))
	for i, f := range futures {
		results[i] = f.value
	}
	return results, err
}
