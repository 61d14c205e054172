package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// An Error is a request that a server did not answer.
type Error struct {
	Status  int    // of the answer; 0 if the stream broke, or no answer came
	Kind    string // the server's word for it, such as overloaded_error
	Message string
	Err     error // the cause, if it came from below

	temporary bool
}

// Error says what happened, without the key.
func (e *Error) Error() string {
	text := "llm: "
	if e.Status != 0 {
		text += fmt.Sprintf("status %d: ", e.Status)
	}
	if e.Kind != "" {
		text += e.Kind + ": "
	}
	text += e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later. The server was
// busy or broken, the connection broke, or the time ran out. A request that the
// server refused is refused again.
func Temporary(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.temporary
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// busy reports whether another attempt makes sense after a status.
func busy(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}
