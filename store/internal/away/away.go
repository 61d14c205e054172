// Package away says what is reported while a store's server cannot be reached. A write
// may have been done, so its outcome is unknown. A read has no outcome, so it is
// unavailable.
//
//	return away.Read(err)
//
// A store makes every such error [posthouse.ErrUnknown], and passes those of calls that
// only read, and of opening it, through [Read]. So one that is forgotten says too little
// rather than too much.
package away

import (
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
)

// Is reports whether an error says that the server did not answer, so that asking again
// may do.
func Is(err error) bool {
	return errors.Is(err, posthouse.ErrUnknown) || errors.Is(err, posthouse.ErrUnavailable)
}

// Read returns the error of a call that only reads: [posthouse.ErrUnavailable] in the
// place of [posthouse.ErrUnknown], any other as it is.
func Read(err error) error {
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != posthouse.CodeUnknown {
		return err
	}
	of := *e
	of.Code = posthouse.CodeUnavailable
	return &of
}

// Reads is [Read] for the errors of an iterator.
func Reads[T any](seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if !yield(v, Read(err)) {
				return
			}
		}
	}
}

// Checks is [Read] for the errors that a check yields.
func Checks(seq iter.Seq[error]) iter.Seq[error] {
	return func(yield func(error) bool) {
		for err := range seq {
			if !yield(Read(err)) {
				return
			}
		}
	}
}
