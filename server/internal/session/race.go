package session

import (
	"errors"

	"github.com/posthouse/posthouse"
)

// A race counts tries to write a slot that others write, too.
type race struct {
	tried bool
	last  uint64 // the revision that the last try found
}

// shouldStop reports success, an error other than a conflict, or a revision that did not
// change since the last try.
func (r *race) shouldStop(err error, revision uint64) bool {
	stuck := r.tried && r.last == revision
	r.tried, r.last = true, revision
	return stuck || !errors.Is(err, posthouse.ErrConflict)
}
