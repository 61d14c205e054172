package flow

import (
	"context"

	"github.com/posthouse/posthouse"
)

type previousKey struct{}

type previous struct {
	value posthouse.Value // Codec is "" if there is no value
	codec posthouse.Codec
}

// Previous returns what the function returned in the thread's last execution before this
// one. It is false if no execution was done. It is the same each time the function is
// executed.
//
// [posthouse.ErrInvalid] outside of a flow, and if the output does not fit T.
func Previous[T any](ctx context.Context) (out T, ok bool, err error) {
	p, ok := ctx.Value(previousKey{}).(*previous)
	switch {
	case !ok:
		return out, false, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "ctx", Message: "is not of a flow", Hint: "pass on the ctx that the function was given",
		}
	case p.value.Codec == "":
		return out, false, nil
	}
	out, err = posthouse.Decode[T](p.value, p.codec)
	return out, err == nil, err
}
