package stalling

import (
	"context"
	"iter"
	"sync"

	"github.com/posthouse/posthouse"
)

// An Outage is a store that does not answer one of its calls: that one is not made and fails with
// [posthouse.ErrUnavailable]. The next one is answered. A test has each call of a run go
// unanswered in turn.
type Outage struct {
	posthouse.Store

	mu     sync.Mutex
	at, n  int
	missed string
}

// NewOutage returns a store that does not answer the at-th call from here, from 1. With 0 it
// answers all.
func NewOutage(s posthouse.Store, at int) *Outage { return &Outage{Store: s, at: at} }

// Missed returns the call that was not answered, as in "Read thread-1". It is empty while
// all were.
func (o *Outage) Missed() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.missed
}

func (o *Outage) call(what string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n++; o.n != o.at {
		return nil
	}
	o.missed = what
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the server is away"}
}

func failing[T any](err error, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if err == nil {
		return seq
	}
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// Append implements [posthouse.Store].
func (o *Outage) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := o.call("Append " + b.Entry.Thread); err != nil {
		return err
	}
	return o.Store.Append(ctx, b)
}

// Read implements [posthouse.Store].
func (o *Outage) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return failing(o.call("Read "+thread), o.Store.Read(ctx, thread, r))
}

// List implements [posthouse.Store].
func (o *Outage) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return failing(o.call("List "+q.Thread), o.Store.List(ctx, q))
}

// Threads implements [posthouse.Store].
func (o *Outage) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return failing(o.call("Threads "+q.Thread), o.Store.Threads(ctx, q))
}

// Find implements [posthouse.Store].
func (o *Outage) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if err := o.call("Find " + string(id)); err != nil {
		return posthouse.Ref{}, err
	}
	return o.Store.Find(ctx, id)
}

// Slot implements [posthouse.Store].
func (o *Outage) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if err := o.call("Slot " + key.Thread); err != nil {
		return posthouse.Slot{}, err
	}
	return o.Store.Slot(ctx, key, op)
}

// Close implements [posthouse.Store]. The store below stays open.
func (o *Outage) Close() error { return nil }
