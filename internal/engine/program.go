package engine

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
)

// Optional returns the only element of optional options, or their zero value.
// [posthouse.ErrInvalid] for more.
func Optional[T any](opts []T) (o T, err error) {
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
