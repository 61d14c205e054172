package lifecycle

import (
	"context"
	"sync/atomic"

	"github.com/posthouse/posthouse"
)

// A State is that of one store. The exported fields are set before the store is shared.
type State struct {
	Store    string // how messages name it, such as "the store /var/lib/posthouse"
	ReadOnly bool   // it was opened for reading only
	Writer   string // who has it open for writing then: "the process", or "a process" of several
	Poisoned string // why a poisoned store takes no writes, such as "after an error"
	Cure     string // what to do then, as a hint

	closed   atomic.Bool
	poisoned atomic.Pointer[posthouse.Error]
}

// Close closes the store for calls that begin later. It reports whether it was open.
func (s *State) Close() bool { return !s.closed.Swap(true) }

// Closed reports whether the store was closed.
func (s *State) Closed() bool { return s.closed.Load() }

// ClosedError returns the error of calls to a closed store, [posthouse.ErrClosed].
func (s *State) ClosedError() error {
	return &posthouse.Error{Code: posthouse.CodeClosed, Message: s.Store + " was closed"}
}

// Poison makes the store take no more writes, which fail with [posthouse.ErrReadOnly]
// from then on. It reports false, and keeps the first cause, if the store is poisoned
// already.
func (s *State) Poison(cause error) bool { return s.poisoned.CompareAndSwap(nil, s.poison(cause)) }

// Damage returns the error of writes to a poisoned store; nil if it is not poisoned.
func (s *State) Damage() error {
	if e := s.poisoned.Load(); e != nil {
		return e
	}
	return nil
}

// DamageOf returns the error that writes would have if this cause poisoned the store.
func (s *State) DamageOf(cause error) error { return s.poison(cause) }

func (s *State) poison(cause error) *posthouse.Error {
	return &posthouse.Error{
		Code: posthouse.CodeReadOnly, Message: s.Store + " takes no more writes " + s.Poisoned, Err: cause, Hint: s.Cure,
	}
}

// Usable returns why the store serves no calls, or nil: it is closed, or ctx has ended.
func (s *State) Usable(ctx context.Context) error {
	if s.closed.Load() {
		return s.ClosedError()
	}
	return ctx.Err()
}

// Writable returns why the store takes no writes, or nil. It looks at what Usable does
// first, then whether the store may be written, then whether it is poisoned.
func (s *State) Writable(ctx context.Context) error {
	if err := s.Usable(ctx); err != nil {
		return err
	}
	if s.ReadOnly {
		return &posthouse.Error{
			Code: posthouse.CodeReadOnly, Message: s.Store + " was opened for reading only",
			Hint: "send the change to " + s.Writer + " that has it open for writing",
		}
	}
	return s.Damage()
}
