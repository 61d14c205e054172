package servertest

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/storetest"
)

// A call is one call of a store. It fails with want while the server is gone.
type call struct {
	name string
	want error
	do   func(ctx context.Context, s posthouse.Store) error
}

// calls lists the calls that reach the server, for a log with the given next entry.
// Writes are unknown, and reads unavailable.
func calls(next *posthouse.Batch) []call {
	thread := next.Entry.Thread
	slot := func(verb posthouse.SlotVerb) func(context.Context, posthouse.Store) error {
		return func(ctx context.Context, s posthouse.Store) error {
			key := posthouse.SlotKey{Thread: thread, Step: "of servertest"}
			_, err := s.Slot(ctx, key, posthouse.SlotOp{Verb: verb, Revision: posthouse.AnyRevision, Value: []byte("v")})
			return err
		}
	}
	return []call{
		{"Append", posthouse.ErrUnknown, func(ctx context.Context, s posthouse.Store) error { return s.Append(ctx, next) }},
		{"Slot, writing", posthouse.ErrUnknown, slot(posthouse.SlotPut)},
		{"Remove", posthouse.ErrUnknown, func(ctx context.Context, s posthouse.Store) error {
			_, err := s.Remove(ctx, posthouse.Removal{Thread: thread + " of nobody", All: true})
			return err
		}},
		{"Slot, reading", posthouse.ErrUnavailable, slot(posthouse.SlotGet)},
		{"Find", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) error {
			_, err := s.Find(ctx, "of nobody")
			if errors.Is(err, posthouse.ErrNotFound) {
				return nil
			}
			return err
		}},
		{"Read", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) error {
			return last(s.Read(ctx, thread, posthouse.Range{}))
		}},
		{"List", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) error {
			return last(s.List(ctx, posthouse.Query{}))
		}},
		{"Threads", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) error {
			return last(s.Threads(ctx, posthouse.ThreadQuery{}))
		}},
		{"Threads with open gates", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) error {
			return last(s.Threads(ctx, posthouse.ThreadQuery{Gates: true}))
		}},
		{"Slots", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) error {
			return last(s.(posthouse.SlotLister).Slots(ctx, ""))
		}},
		{"Check", posthouse.ErrUnavailable, func(ctx context.Context, s posthouse.Store) (err error) {
			for err = range s.(posthouse.Checker).Check(ctx) {
				if away.Is(err) {
					break
				}
			}
			return err
		}},
	}
}

func last[T any](seq iter.Seq2[T, error]) (err error) {
	for _, err = range seq {
	}
	return err
}

// Gone makes every kind of call to a store while its server does not answer.
func Gone(t storetest.TB, s posthouse.Store, next *posthouse.Batch) {
	t.Helper()
	for _, c := range calls(next) {
		if err := c.do(t.Context(), s); !errors.Is(err, c.want) {
			t.Errorf("%s while the server is gone: got %v, want %v", c.name, err, c.want)
		}
	}
}

// Back makes the same calls once the server is back, each until it is answered.
func Back(t storetest.TB, s posthouse.Store, next *posthouse.Batch) {
	t.Helper()
	for _, c := range calls(next) {
		err := c.do(t.Context(), s)
		for away.Is(err) && t.Context().Err() == nil {
			err = c.do(t.Context(), s)
		}
		if err != nil {
			t.Errorf("%s once the server is back: %v", c.name, err)
		}
	}
}
