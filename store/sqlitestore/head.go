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

	unplaced = 0xff // no head begins so: what a walk of the table marks one with
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
	bad := func() error { return corrupt("entry %d of thread %q does not decode", e.Seq, e.Thread) }
	if len(b) == 0 || b[0] > headPrev|headSig {
		return bad()
	}
	flags := b[0]
	generation, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return bad()
	}
	b = b[1+n:]
	e.Generation, e.Prev, e.Sig = uint32(generation), posthouse.Hash{}, nil
	if flags&headPrev != 0 {
		if len(b) < 32 {
			return bad()
		}
		e.Prev, b = posthouse.Hash(b[:32]), b[32:]
	}
	if len(b) < 32 {
		return bad()
	}
	e.Hash, b = posthouse.Hash(b[:32]), b[32:]
	if flags&headSig != 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return bad()
		}
		e.Sig, b = b[n:n+int(size):n+int(size)], b[n+int(size):]
	}
	e.Header = b
	return nil
}
