package delta

import (
	"bytes"
	"fmt"
)

// SegmentCost is what one more splice in a chain is reckoned to cost a reader,
// in bytes.
const SegmentCost = 256

// Common returns the lengths of the longest common prefix and, in what is left
// of both, the longest common suffix.
func Common(old, new []byte) (prefix, suffix int) {
	n := min(len(old), len(new))
	prefix = commonPrefix(old[:n], new[:n])
	n -= prefix
	a, b := old[len(old)-n:], new[len(new)-n:]
	for suffix < n && a[n-1-suffix] == b[n-1-suffix] {
		if n-suffix >= 64 && bytes.Equal(a[n-suffix-64:n-suffix], b[n-suffix-64:n-suffix]) {
			suffix += 64
			continue
		}
		suffix++
	}
	return prefix, suffix
}

// commonPrefix compares large blocks first: equality of blocks runs at memory
// speed, comparing byte by byte does not.
func commonPrefix(a, b []byte) int {
	n := 0
	for block := 4096; block >= 64; block /= 8 {
		for n+block <= len(a) && bytes.Equal(a[n:n+block], b[n:n+block]) {
			n += block
		}
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// Rewrite reports whether a value of size bytes should be written in full,
// given the chain of splices since it last was and the bytes dead in it, both
// counted with the splice in question.
func Rewrite(size, chain, dead int) bool { return dead+SegmentCost*chain > size }

// Apply returns the value that keeps prefix and suffix bytes of old around
// middle. It may reuse old's memory; old is not to be used again. An error
// means the lengths do not fit.
func Apply(old []byte, prefix, suffix int, middle []byte) ([]byte, error) {
	if prefix < 0 || suffix < 0 || prefix > len(old) || suffix > len(old)-prefix {
		return nil, fmt.Errorf("a splice keeps %d and %d bytes of a value of %d", prefix, suffix, len(old))
	}
	tail := old[len(old)-suffix:]
	if suffix <= 64 {
		var keep [64]byte // the append below may write over a short tail
		n := copy(keep[:], tail)
		return append(append(old[:prefix], middle...), keep[:n]...), nil
	}
	new := make([]byte, 0, prefix+len(middle)+suffix)
	return append(append(append(new, old[:prefix]...), middle...), tail...), nil
}
