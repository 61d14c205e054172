package stream

import (
	"context"
	"sync"
)

// An Emission is a piece of text or a value that a program reports while it runs. It is
// not recorded: a replay that has a step's result emits nothing for the step.
type Emission struct {
	Text  string // if not Custom
	Value any    // if Custom

	Custom  bool
	Step    string // the step or call with the function that emits, "" outside of any
	Outer   string // the name of the outermost one around it
	Attempt int    // of the step, 0 outside of any
	Seq     uint64 // from 1, counted by the emitter
}

// An Emitter passes on what one attempt of a program emits, in order, for as
// long as the attempt lasts.
type Emitter struct {
	send func(context.Context, <-chan struct{}, Emission)
	over chan struct{}

	mu  sync.Mutex
	seq uint64
}

type emitterKey struct{}

// NewEmitter returns an emitter that calls send for each emission, one at a
// time. send may block; it must return when the channel it is given is closed.
func NewEmitter(send func(ctx context.Context, over <-chan struct{}, e Emission)) *Emitter {
	return &Emitter{send: send, over: make(chan struct{})}
}

// With returns a context below which [Send] reaches this emitter only.
func (e *Emitter) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, emitterKey{}, e)
}

// Close ends the attempt. Once it has returned nothing is sent: emissions of code that
// the attempt started are dropped. It must be called once.
func (e *Emitter) Close() {
	close(e.over)
	e.mu.Lock() // waits for the emission on its way
	defer e.mu.Unlock()
}

// Send passes on an emission to the emitter of ctx. It waits for a slow reader. Without an
// emitter, or after the end of the attempt, it does nothing.
func Send(ctx context.Context, em Emission) {
	e, ok := ctx.Value(emitterKey{}).(*Emitter)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if closed(e.over) {
		return
	}
	e.seq++
	em.Seq = e.seq
	e.send(ctx, e.over, em)
}
