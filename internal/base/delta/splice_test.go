package delta

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCommon(t *testing.T) {
	for _, c := range []struct {
		old, new       string
		prefix, suffix int
	}{
		{"", "", 0, 0}, {"a", "", 0, 0}, {"abc", "abc", 3, 0}, {"[1]", "[1,2]", 2, 1},
		{"aaaa", "aaa", 3, 0}, {"xaay", "xay", 2, 1}, {"left", "right", 0, 1},
	} {
		if p, s := Common([]byte(c.old), []byte(c.new)); p != c.prefix || s != c.suffix {
			t.Errorf("Common(%q, %q) = %d, %d, want %d, %d", c.old, c.new, p, s, c.prefix, c.suffix)
		}
	}
}

// TestSplice checks that what Common keeps is common and maximal, and that
// Apply gives the new value back.
func TestSplice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 30).Draw(t, "base")
		old := bytes.Repeat(base, rapid.IntRange(0, 400).Draw(t, "times"))
		new := slices.Clone(old)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(new)).Draw(t, "at")
			to := rapid.IntRange(at, len(new)).Draw(t, "to")
			new = slices.Concat(new[:at], rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "blob"), new[to:])
		}
		p, s := Common(old, new)
		if p+s > min(len(old), len(new)) || !bytes.Equal(old[:p], new[:p]) || !bytes.Equal(old[len(old)-s:], new[len(new)-s:]) {
			t.Fatalf("%d and %d bytes are not common", p, s)
		}
		if p+s < min(len(old), len(new)) && (old[p] == new[p] || old[len(old)-s-1] == new[len(new)-s-1]) {
			t.Fatalf("%d and %d bytes are not all that is common", p, s)
		}
		middle := slices.Clone(new[p : len(new)-s])
		got, err := Apply(slices.Clone(old), p, s, middle)
		if err != nil || !bytes.Equal(got, new) {
			t.Fatalf("Apply gives %q, %v, want %q", got, err, new)
		}
	})
}

func TestApplyRefuses(t *testing.T) {
	for _, c := range [][2]int{{-1, 0}, {0, -1}, {2, 2}, {4, 0}} {
		if _, err := Apply([]byte("abc"), c[0], c[1], nil); err == nil {
			t.Errorf("a splice that keeps %v of 3 bytes was applied", c)
		}
	}
}

// TestRewriteIsLinear appends n equal elements and adds up what is stored.
func TestRewriteIsLinear(t *testing.T) {
	stored := func(element, n int) (total int) {
		size, chain := 0, 0
		for range n {
			size += element
			if chain++; Rewrite(size, chain, 0) {
				total += size
				chain = 0
			} else {
				total += element
			}
		}
		return total
	}
	for _, element := range []int{1, 10, 100, 300, 1000, 5000} {
		small, big := stored(element, 1000), stored(element, 4000)
		if big > 43*small/10 && element >= SegmentCost {
			t.Errorf("elements of %d bytes: 1,000 take %d, 4,000 take %d", element, small, big)
		}
		// A rewrite costs at most the segments it spares a reader.
		if limit := 4000 * (element + 2*SegmentCost); big > limit {
			t.Errorf("4,000 elements of %d bytes take %d, over %d", element, big, limit)
		}
	}
}

func BenchmarkCommon(b *testing.B) {
	old := bytes.Repeat([]byte("0123456789"), 50_000)
	new := append(slices.Clone(old), "tail"...)
	b.SetBytes(int64(len(old)))
	for b.Loop() {
		Common(old, new)
	}
}
