package api

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"testing"
)

// TestCollect ends a page at its limit, and names the item to go on after only if
// there are more.
func TestCollect(t *testing.T) {
	upTo := func(n int, err error) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i+1, nil) {
					return
				}
			}
			if err != nil {
				yield(0, err)
			}
		}
	}
	for _, c := range []struct {
		have int
		page []int
		next string
	}{{0, []int{}, ""}, {1, []int{1}, ""}, {2, []int{1, 2}, ""}, {3, []int{1, 2}, "2"}} {
		page, next, err := Collect(upTo(c.have, nil), 2, strconv.Itoa)
		if err != nil || page == nil || !slices.Equal(page, c.page) || next != c.next {
			t.Errorf("of %d items: %v, next %q, %v", c.have, page, next, err)
		}
	}
	broken := errors.New("broken")
	if page, _, err := Collect(upTo(1, broken), 2, strconv.Itoa); !errors.Is(err, broken) || page != nil {
		t.Errorf("an error behind an item: %v, %v", page, err)
	}
}
