package memstore

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse"
)

// Noop returns a store that keeps nothing. Appends and slot writes succeed; Find fails
// and lists are empty. A program that never needs its state again runs on it without a
// special case, but cannot be resumed, forked or approved later.
func Noop() posthouse.Store { return noop{} }

type noop struct{}

func (noop) Append(ctx context.Context, _ *posthouse.Batch) error { return ctx.Err() }

func (noop) Read(ctx context.Context, _ string, _ posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return nothing[*posthouse.Entry](ctx)
}

func (noop) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if err := ctx.Err(); err != nil {
		return posthouse.Ref{}, err
	}
	return posthouse.Ref{}, posthouse.NotFound("checkpoint or gate in a store that keeps nothing:", id)
}

func (noop) List(ctx context.Context, _ posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return nothing[*posthouse.Header](ctx)
}

func (noop) Threads(ctx context.Context, _ posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return nothing[*posthouse.ThreadInfo](ctx)
}

func (noop) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	switch err := ctx.Err(); {
	case err != nil:
		return posthouse.Slot{}, err
	case op.Verb == posthouse.SlotGet:
		return posthouse.Slot{}, posthouse.NotFound("slot in a store that keeps nothing:", key.Step)
	case op.Verb == posthouse.SlotDelete:
		return posthouse.Slot{}, nil
	}
	return posthouse.Slot{Revision: 1, Fence: op.Fence}, nil
}

func (noop) Remove(ctx context.Context, _ posthouse.Removal) (posthouse.Removed, error) {
	return posthouse.Removed{}, ctx.Err()
}

// Watch waits for ctx to end: nothing is ever appended.
func (noop) Watch(ctx context.Context, _ string) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

func (noop) Close() error { return nil }

func nothing[T any](ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := ctx.Err(); err != nil {
			var none T
			yield(none, err)
		}
	}
}
