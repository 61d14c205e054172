package engine

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
	Step    string // the step or call whose function emits, "" outside of any
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

// NewEmitter returns an emitter that calls send for each emission, one at a
// time. send may block; it must return when the channel it is given is closed.
func NewEmitter(send func(ctx context.Context, over <-chan struct{}, e Emission)) *Emitter {
	return &Emitter{send: send, over: make(chan struct{})}
}

// With returns a context below which [Emit] reaches this emitter only.
func (e *Emitter) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, keyEmitter, e)
}

// Close ends the attempt. Once it has returned nothing is sent: emissions of code that
// the attempt left behind are dropped. It must be called once.
func (e *Emitter) Close() {
	close(e.over)
	e.mu.Lock() // waits for the emission on its way
	defer e.mu.Unlock()
}

// Emit passes on an emission, with the step it belongs to. It waits for a slow reader.
// Without a reader, or after the end of the attempt, it does nothing. It counts as a
// heartbeat; an empty text does nothing else.
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
	if Closed(e.over) {
		return
	}
	e.seq++
	em.Seq = e.seq
	e.send(ctx, e.over, em)
}
