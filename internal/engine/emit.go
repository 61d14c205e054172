package engine

import (
	"context"
	"sync"
)

// An Emission is what a program tells while it runs: a piece of text, or a
// value. None of it goes on record, so a replay that has a step's result emits
// nothing for it.
type Emission struct {
	Text  string // if not Custom
	Value any    // if Custom

	Custom  bool
	Step    string // the step or call whose function emits, "" outside of any
	Outer   string // the name of the outermost one around it
	Attempt int    // of the step, 0 outside of any
	Seq     uint64 // from 1, counted by the emitter
}

// An Emitter hands on what one attempt of a program emits, in order, for as
// long as the attempt lasts.
type Emitter struct {
	send func(context.Context, <-chan struct{}, Emission)
	over chan struct{}

	mu     sync.Mutex
	seq    uint64
	closed bool
}

// NewEmitter returns an emitter that calls send for each emission, for one at a
// time. send may block; it must return when the channel it is given is closed.
func NewEmitter(send func(ctx context.Context, over <-chan struct{}, e Emission)) *Emitter {
	return &Emitter{send: send, over: make(chan struct{})}
}

// With returns a context below which [Emit] reaches the emitter, and no other
// one that was around it.
func (e *Emitter) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, keyEmitter, e)
}

// Close ends the attempt: what code that it left behind still emits is dropped.
// Once it has returned nothing is sent. It must be called once.
func (e *Emitter) Close() {
	close(e.over)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// Emit hands on an emission, and says which step it is of. It waits while whoever
// listens is behind. Where nobody listens, or behind the end of the attempt, it
// does nothing. It shows that the execution lives, which is all that an empty
// text does.
func Emit(ctx context.Context, em Emission) {
	if t, ok := From(ctx); ok {
		t.Heartbeat()
	}
	e, ok := ctx.Value(keyEmitter).(*Emitter)
	if !ok || !em.Custom && em.Text == "" {
		return
	}
	if sc, ok := ctx.Value(keyScope).(*scope); ok {
		em.Step, em.Outer, em.Attempt = callName(sc.name, sc.occurrence), sc.outer, sc.attempt
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.seq++
	em.Seq = e.seq
	e.send(ctx, e.over, em)
}
