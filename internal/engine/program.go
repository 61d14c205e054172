package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Owns refuses a thread that a program of another name runs. Kind is that of the calling
// program, as in "graph".
func Owns(kind, name string, h *posthouse.Header) error {
	if h.Graph == "" || h.Graph == name {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "thread",
		Message: fmt.Sprintf("%q belongs to %q and is not run by %s %q", h.Thread, h.Graph, kind, name),
		Hint:    "use another thread, or the program that the thread names",
	}
}

// CheckpointOf loads a checkpoint of a thread: [posthouse.ErrNotFound], also for
// one of another thread.
func CheckpointOf(ctx context.Context, l *ledger.Ledger, thread string, id posthouse.ID) (*posthouse.Checkpoint, error) {
	c, err := l.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.Thread != thread {
		return nil, &posthouse.Error{
			Code: posthouse.CodeNotFound, Message: "checkpoint " + string(c.ID) + " is not of thread " + thread,
			Hint: "it belongs to thread " + c.Thread,
		}
	}
	return c, nil
}

// One returns the only element of optional options, or their zero value without one.
// [posthouse.ErrInvalid] for more.
func One[T any](opts []T) (o T, err error) {
	switch len(opts) {
	case 0:
		return o, nil
	case 1:
		return opts[0], nil
	}
	return o, posthouse.Invalid("options", "are given %d times; give them once", len(opts))
}

// UnknownThread is the error of going on with what is not there.
func UnknownThread(thread, branch string) error {
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: fmt.Sprintf("thread %q has no branch %q", thread, branch),
		Hint: "run the thread first",
	}
}

// OneLine makes an error fit for a checkpoint's header: valid text on one line.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}

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
