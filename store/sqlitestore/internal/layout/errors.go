package layout

import (
	"errors"

	"github.com/posthouse/posthouse"
)

// OutOfOrder is the error of a walk that came to a row before the one it was at.
func OutOfOrder(table string) error { return posthouse.Corrupt("table %s is out of order", table) }

// Refused reports whether err is one of ours, about the request alone. Then others in its
// group can go on.
func Refused(err error) bool {
	_, own := errors.AsType[*posthouse.Error](err)
	return own
}
