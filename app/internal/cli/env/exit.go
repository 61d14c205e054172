package env

import "errors"

// Exit returns an error that ends the command with a code and prints nothing: the answer
// said it.
func Exit(code int) error { return &exitError{code} }

// ExitCode returns the code of an error of [Exit].
func ExitCode(err error) (code int, ok bool) {
	quiet, ok := errors.AsType[*exitError](err)
	if !ok {
		return 0, false
	}
	return quiet.code, true
}

type exitError struct{ code int }

func (e *exitError) Error() string { return "posthouse: the answer above is not a good one" }
