package sqlitestore

import (
	"encoding/binary"

	"github.com/posthouse/posthouse"
)

// The head of an entry is one column, because a column costs about as much to
// write as a hash: a byte of flags, the generation as a varint, the previous
// link unless it is zero, the hash, the signature with its length as a varint
// if there is one, and the header.
const (
	headPrev = 1
	headSig  = 2
)

func appendHead(b []byte, e *posthouse.Entry) []byte {
	at := len(b)
	b = binary.AppendUvarint(append(b, 0), uint64(e.Generation))
	if !e.Prev.IsZero() {
		b[at] |= headPrev
		b = append(b, e.Prev[:]...)
	}
	b = append(b, e.Hash[:]...)
	if len(e.Sig) > 0 {
		b[at] |= headSig
		b = append(binary.AppendUvarint(b, uint64(len(e.Sig))), e.Sig...)
	}
	return append(b, e.Header...)
}

// readHead fills in what appendHead wrote; the entry keeps parts of b.
func readHead(e *posthouse.Entry, b []byte) error {
	ok := len(b) > 0 && b[0] <= headPrev|headSig
	var flags byte
	if ok {
		flags, b = b[0], b[1:]
	}
	number := func() (u uint64) {
		if ok {
			var n int
			if u, n = binary.Uvarint(b); n <= 0 {
				ok = false
				return 0
			}
			b = b[n:]
		}
		return u
	}
	bytes := func(n uint64) (p []byte) {
		if ok = ok && uint64(len(b)) >= n; ok {
			p, b = b[:n:n], b[n:]
		}
		return p
	}
	e.Generation = uint32(number())
	if flags&headPrev != 0 {
		copy(e.Prev[:], bytes(32))
	}
	copy(e.Hash[:], bytes(32))
	if flags&headSig != 0 {
		e.Sig = bytes(number())
	}
	if e.Header = b; !ok {
		return corrupt("entry %d of thread %q does not decode", e.Seq, e.Thread)
	}
	return nil
}
