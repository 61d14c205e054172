package memindex

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOrderedKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := ordered[int]{cmp: cmp.Compare[int]}
		var want []int
		many := rapid.IntRange(0, 3*blockSize).Draw(t, "at once")
		for i := range many { // fill some blocks first
			o.add(i * 10)
			want = append(want, i*10)
		}
		for _, v := range rapid.SliceOf(rapid.IntRange(-5, 35*blockSize)).Draw(t, "items") {
			i, there := slices.BinarySearch(want, v)
			if o.remove(v) != there {
				t.Fatalf("remove(%d): want %v", v, there)
			}
			if there {
				want = slices.Delete(want, i, i+1)
			} else {
				o.add(v)
				want = slices.Insert(want, i, v)
			}
		}
		from := rapid.IntRange(-10, 40*blockSize).Draw(t, "from")
		at, _ := slices.BinarySearch(want, from)
		var up, down []int
		for v := range o.from(func(v int) bool { return v >= from }, false).all() {
			up = append(up, v)
			if len(up) == 600 {
				break
			}
		}
		for v := range o.from(func(v int) bool { return v < from }, true).all() {
			down = append(down, v)
			if len(down) == 600 {
				break
			}
		}
		if w := want[at:]; !slices.Equal(up, w[:min(len(w), 600)]) {
			t.Fatalf("ascending from %d: got %v", from, up)
		}
		w := slices.Clone(want[:at])
		slices.Reverse(w)
		if !slices.Equal(down, w[:min(len(w), 600)]) {
			t.Fatalf("descending from %d: got %v", from, down)
		}
		for _, b := range o.blocks {
			if len(b) == 0 || len(b) > blockSize {
				t.Fatalf("a block of %d", len(b))
			}
		}
	})
}

func TestOrderedFillsItsBlocksWhenAppendedTo(t *testing.T) {
	o := ordered[int]{cmp: cmp.Compare[int]}
	for i := range 4 * blockSize {
		o.add(i)
	}
	if len(o.blocks) != 4 {
		t.Errorf("%d items in order take %d blocks, want 4", 4*blockSize, len(o.blocks))
	}
}
