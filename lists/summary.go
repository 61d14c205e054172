package lists

import (
	"bytes"

	"github.com/posthouse/posthouse"
)

// Same reports whether two summaries say the same, as far as both say it: of one that is
// [posthouse.ThreadInfo.Dated], labels, notes and effects do not count.
func Same(t, o *posthouse.ThreadInfo) bool {
	a, b := *t, *o
	a.Dated = a.Dated || b.Dated
	b.Dated = a.Dated
	x, errX := a.MarshalBinary()
	y, errY := b.MarshalBinary()
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
