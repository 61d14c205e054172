package layout

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/posthouse/posthouse"
)

// The head of an entry is one column, because a column costs about as much to write
// as a hash. It holds a byte of flags; the checksum, if there is one; the generation as
// a varint, unless the flags say that it is the first; the previous link, unless it is
// zero; the hash; the signature after its length as a varint, if there is one; and the
// header.
const (
	headPrev = 1
	headSig  = 2
	headSum  = 4 // a checksum: of entries that lists show, since schema 4
	headOne  = 8 // the generation is 1 and left out, since schema 4

	Unplaced = 0xff // put before the head of an entry without cid by a walk; no head begins so
)

// AppendHead encodes the head of an entry, with a checksum if lists show it. It saves
// bytes because four instead of five rows may fit a page otherwise, which makes a chat
// of 1 KB steps a fifth larger.
func AppendHead(b []byte, e *posthouse.Entry, listed bool) []byte {
	at := len(b)
	b = append(b, 0)
	if listed {
		b = append(b, 0, 0, 0, 0)
		b[at] |= headSum
	}
	if e.Generation == 1 {
		b[at] |= headOne
	} else {
		b = binary.AppendUvarint(b, uint64(e.Generation))
	}
	if !e.Prev.IsZero() {
		b[at] |= headPrev
		b = append(b, e.Prev[:]...)
	}
	b = append(b, e.Hash[:]...)
	if len(e.Sig) > 0 {
		b[at] |= headSig
		b = append(binary.AppendUvarint(b, uint64(len(e.Sig))), e.Sig...)
	}
	b = append(b, e.Header...)
	if !listed {
		return b
	}
	n := len(b)
	b = append(b, e.Thread...) // scratch space, to sum the name without an allocation
	name := crc32.Checksum(b[n:], castagnoli)
	b = b[:n]
	binary.BigEndian.PutUint32(b[at+1:], sumHead(name, e.Seq, b[at:]))
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SumName returns the checksum of a thread's name, which that of a head covers.
func SumName(thread string) uint32 { return crc32.Checksum([]byte(thread), castagnoli) }

// sumHead returns the checksum of a head at its place in the log. It finds damage in a
// fraction of the time that the hash takes. It does not find forgery.
func sumHead(name uint32, seq uint64, b []byte) uint32 {
	const spread = 0x9e3779b97f4a7c15 // odd, so that places near each other differ
	return crc32.Update(name, castagnoli, b[5:]) ^ uint32((seq<<4|uint64(b[0]))*spread>>32)
}

// IsSound reports whether the head b, which was read into e, is what was written. It
// compares the checksum, or the hash where an older version wrote no checksum.
func IsSound(name uint32, e *posthouse.Entry, b []byte) bool {
	if b[0]&headSum != 0 {
		return binary.BigEndian.Uint32(b[1:]) == sumHead(name, e.Seq, b)
	}
	return e.Sum() == e.Hash
}

// Unsound is the error for a head that [IsSound] refuses.
func Unsound(e *posthouse.Entry) error {
	return posthouse.Corrupt("entry %d of thread %q is not what was written there", e.Seq, e.Thread)
}

// ReadHead decodes what AppendHead wrote into e, which keeps parts of b. It does not
// check the content: see [IsSound].
func ReadHead(e *posthouse.Entry, b []byte) error {
	bad := func() error { return posthouse.Corrupt("entry %d of thread %q does not decode", e.Seq, e.Thread) }
	if len(b) < 5 || b[0] > headPrev|headSig|headSum|headOne {
		return bad()
	}
	flags := b[0]
	b = b[1:]
	if flags&headSum != 0 {
		b = b[4:]
	}
	generation := uint64(1)
	if flags&headOne == 0 {
		n := 0
		generation, n = binary.Uvarint(b)
		if n <= 0 {
			return bad()
		}
		b = b[n:]
	}
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
