package canon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// ErrMalformed is wrapped by every decoding error.
var ErrMalformed = errors.New("malformed canonical encoding")

// A Reader decodes what the Append functions wrote. The first error sticks:
// later reads return zero values, and Done reports it. Slices returned alias
// the input.
type Reader struct {
	b      []byte // nil after an error: nothing can be read from it
	off    int
	err    error
	text   string // b, once a string was read from it: strings are cut from this
	shared *Strings
}

// NewReader returns a Reader over b.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Reset makes r a Reader over b. If shared is not nil, its strings are those it
// remembers, instead of cuts of one copy of b: for inputs that resemble each
// other.
func (r *Reader) Reset(b []byte, shared *Strings) { *r = Reader{b: b, shared: shared} }

// Done returns the first error, or an error if bytes are left over.
func (r *Reader) Done() error {
	if r.err == nil && r.off != len(r.b) {
		r.fail("%d bytes left over", len(r.b)-r.off)
	}
	return r.err
}

// Err returns the first error so far.
func (r *Reader) Err() error { return r.err }

// Len returns how many bytes are unread.
func (r *Reader) Len() int { return len(r.b) - r.off }

// Consume passes over p if that is what comes next, and reports whether it did.
func (r *Reader) Consume(p []byte) bool {
	if !bytes.HasPrefix(r.b[r.off:], p) {
		return false
	}
	r.off += len(p)
	return true
}

// Rest is what is unread. It aliases the input.
func (r *Reader) Rest() []byte { return r.b[r.off:] }

// Fail records an error found by the caller, such as a value out of range.
func (r *Reader) Fail(format string, args ...any) { r.fail(format, args...) }

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: %s", ErrMalformed, r.off, fmt.Sprintf(format, args...))
		r.b, r.off = nil, 0
	}
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if off := r.off; off < len(r.b) {
		r.off = off + 1
		return r.b[off]
	}
	return r.truncated()
}

//go:noinline
func (r *Reader) truncated() byte {
	r.fail("truncated")
	return 0
}

// Uint reads a minimal varint.
func (r *Reader) Uint() uint64 {
	if off := r.off; off < len(r.b) && r.b[off] < 0x80 { // most are short; this much is inlined
		r.off = off + 1
		return uint64(r.b[off])
	}
	return r.long()
}

func (r *Reader) long() uint64 {
	u, n := binary.Uvarint(r.b[r.off:])
	if n <= 0 {
		r.fail("bad varint")
		return 0
	}
	if n > 1 && r.b[r.off+n-1] == 0 {
		r.fail("varint is not minimal")
		return 0
	}
	r.off += n
	return u
}

// Uints reads as many minimal varints as dst has room for.
func (r *Reader) Uints(dst []uint64) {
	b, off := r.b, r.off
	for i := range dst {
		if off < len(b) && b[off] < 0x80 {
			dst[i] = uint64(b[off])
			off++
			continue
		}
		r.off = off
		dst[i] = r.long()
		b, off = r.b, r.off
	}
	r.off = off
}

// Int reads a zigzag varint.
func (r *Reader) Int() int64 {
	u := r.Uint()
	return int64(u>>1) ^ -int64(u&1)
}

// Count reads a number of items that each take at least one byte, so that a
// hostile count cannot make the caller allocate more than the input is long.
func (r *Reader) Count() int {
	u := r.Uint()
	if u > uint64(r.Len()) {
		r.fail("count %d exceeds the %d bytes left", u, r.Len())
		return 0
	}
	return int(u)
}

// Items reads a Count and yields once for each item, as long as no error was
// met: a hostile count costs no more than the items that are there.
func (r *Reader) Items() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, n := 0, r.Count(); i < n && r.err == nil; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// Raw reads exactly n bytes.
func (r *Reader) Raw(n int) []byte {
	if n < 0 || n > r.Len() {
		r.truncated()
		return nil
	}
	p := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return p
}

// Bytes reads a length-prefixed byte string.
func (r *Reader) Bytes() []byte { return r.Raw(r.Count()) }

// String reads a length-prefixed string. All strings of one Reader share one
// copy of the input, unless it has strings to share.
func (r *Reader) String() string {
	n := r.Count()
	if n == 0 {
		return ""
	}
	if r.shared != nil {
		r.off += n
		return r.shared.get(r.b[r.off-n : r.off])
	}
	if r.text == "" {
		r.text = string(r.b)
	}
	r.off += n
	return r.text[r.off-n : r.off]
}

// Strings reads a list of strings; an empty list is nil.
func (r *Reader) Strings() []string {
	var ss []string
	for range r.Items() {
		ss = append(ss, r.String())
	}
	return ss
}

// Map reads pairs with strictly ascending keys; an empty map is nil.
func (r *Reader) Map() map[string]string {
	var m map[string]string
	last := ""
	for i := range r.Items() {
		k, v := r.String(), r.String()
		if i == 0 {
			m = map[string]string{}
		} else if k <= last {
			r.fail("keys are not in ascending order")
			return nil
		}
		m[k], last = v, k
	}
	return m
}

// UintAt reads a minimal varint of at most 63 bits at b[at:], without a Reader. If there is
// no varint, next is at least [Beyond].
func UintAt(b []byte, at int) (v uint64, next int) {
	for shift := 0; at < len(b) && shift < 63; shift += 7 {
		c := b[at]
		at++
		v |= uint64(c&0x7f) << shift
		if c == 0 && shift > 0 {
			break
		}
		if c < 0x80 {
			return v, at
		}
	}
	return 0, Beyond
}

// Beyond lies after the end of any input that [UintAt] reads, whatever is added.
const Beyond = 1 << 24
