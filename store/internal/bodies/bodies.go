// Package bodies joins the bodies of an entry into one value, and cuts them apart again by
// the sizes in its header.
package bodies

import (
	"github.com/posthouse/posthouse"
)

// Gone is a bitmap of the records without their bodies: removed, or absent from a copy.
// Nil means that all are there.
type Gone []byte

// Has reports whether a record's body is gone.
func (g Gone) Has(record int) bool { return record/8 < len(g) && g[record/8]&(1<<(record%8)) != 0 }

// Set marks a record's body as gone.
func (g *Gone) Set(record int) {
	for len(*g) <= record/8 {
		*g = append(*g, 0)
	}
	(*g)[record/8] |= 1 << (record % 8)
}

// Absent returns the bodies that a batch lacks, nil unless it is a copy.
func Absent(b *posthouse.Batch) (g Gone, err error) {
	if !b.Copy {
		return nil, nil
	}
	records, err := b.Entry.Records()
	for i := range records {
		if records[i].Size > 0 && (i >= len(b.Entry.Bodies) || len(b.Entry.Bodies[i]) == 0) {
			g.Set(i)
		}
	}
	return g, err
}

// Join returns the bodies one after the other, nil if all are empty, and how many are
// not. With a single one it does not copy.
func Join(bodies [][]byte) (joined []byte, n int) {
	size := 0
	for _, b := range bodies {
		if len(b) > 0 {
			joined = b
			size += len(b)
			n++
		}
	}
	if n < 2 {
		return joined, n
	}
	joined = make([]byte, 0, size)
	for _, b := range bodies {
		joined = append(joined, b...)
	}
	return joined, n
}

// Split sets the entry's bodies from what Join made of them. They share its memory.
// [posthouse.ErrCorrupt] if the header's sizes are others.
func Split(e *posthouse.Entry, joined []byte, gone Gone) error {
	records, err := e.Records()
	if err != nil {
		return err
	}
	e.Bodies = make([][]byte, len(records))
	for i := range records {
		n := records[i].Size
		if n == 0 || gone.Has(i) {
			continue
		}
		if n > len(joined) {
			return posthouse.Corrupt("entry %d of thread %q has fewer bytes than its header says", e.Seq, e.Thread)
		}
		e.Bodies[i], joined = joined[:n:n], joined[n:]
	}
	if len(joined) > 0 {
		return posthouse.Corrupt("entry %d of thread %q has more bytes than its header says", e.Seq, e.Thread)
	}
	return nil
}
