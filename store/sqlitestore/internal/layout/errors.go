package layout

import (
	"errors"

	"github.com/posthouse/posthouse"
)

// Refused reports whether err is one of ours, about the request alone. Then others in its
// group can go on.
func Refused(err error) bool {
	_, own := errors.AsType[*posthouse.Error](err)
	return own
}
