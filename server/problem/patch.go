package problem

import (
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/jsonpatch"
)

// OfPatch returns the error of a patch of a state that cannot be applied: [posthouse.CodeConflict] with the
// path where it does not fit, [posthouse.CodeTooLarge], else [posthouse.CodeInvalid]. Other errors are returned as they are.
func OfPatch(err error) error {
	f, ok := errors.AsType[*jsonpatch.Fault](err)
	if !ok {
		return err
	}
	e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "body", Message: "is no patch that can be applied: " + f.Error()}
	switch f.Reason {
	case jsonpatch.Missing, jsonpatch.Differs:
		e.Code, e.Field, e.Message = posthouse.CodeConflict, f.Path, "does not fit the state: "+f.Error()
		e.Hint = "load the checkpoint, and make the patch for its state"
	case jsonpatch.TooLarge:
		e.Code = posthouse.CodeTooLarge
	}
	return e
}
