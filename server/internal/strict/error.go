package strict

import (
	"fmt"

	"github.com/posthouse/posthouse"
)

// Invalid returns an [posthouse.ErrInvalid] about a field of a request.
func Invalid(field, format string, args ...any) *posthouse.Error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}
