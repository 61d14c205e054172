package layout

import (
	"errors"

	"github.com/posthouse/posthouse"
)

// Refused reports whether err is the request's own fault, so that others in
// its group can go on.
func Refused(err error) bool {
	if err == nil {
		return false
	}
	var own *posthouse.Error
	return errors.As(err, &own)
}
