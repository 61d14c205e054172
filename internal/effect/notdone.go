package effect

import (
	"errors"

	"github.com/posthouse/posthouse/runs"
)

// A notDone is the word of a function that nothing happened.
type notDone struct{ error }

func (e notDone) Unwrap() error { return e.error }

// MarkNotDone marks an error as the word of an effect's function that nothing happened. It is nil for
// nil.
func MarkNotDone(err error) error {
	if err == nil {
		return nil
	}
	return notDone{err}
}

// IsNotDone reports whether an error says that nothing happened: it was marked by [MarkNotDone], or
// comes from a worker that said so. Of an error with several branches each one has to. A panic with such an
// error says nothing: it is not known what came before it.
func IsNotDone(err error) bool {
	for err != nil {
		switch e := err.(type) {
		case interface{ Panicked() }: // whatever it panicked with
			return false
		case notDone:
			return true
		case neverSent:
			return e.wire.unsent(e.error)
		case *runs.RemoteError:
			return e.NotDone
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			for _, branch := range all {
				if branch != nil && !IsNotDone(branch) {
					return false
				}
			}
			return len(all) > 0
		}
		err = errors.Unwrap(err)
	}
	return false
}
