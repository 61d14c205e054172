package session

import "errors"

// WithCause joins the cause for which a context or session ended with the error that
// followed from it.
func WithCause(cause, failed error) error {
	switch {
	case failed == nil:
		return cause
	case errors.Is(failed, cause):
		return failed
	}
	return errors.Join(cause, failed)
}
