package canon_test

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// TestStringListsShareNoMemory: lists come back as they were written, and an append to one of them
// changes no other.
func TestStringListsShareNoMemory(t *testing.T) {
	var lists canon.StringLists
	var kept, want [][]string
	for n := range 50 {
		names := make([]string, n%5)
		for i := range names {
			names[i] = string(rune('a' + n%26 + i))
		}
		r := canon.NewReader(canon.AppendStrings(nil, names))
		read := lists.Read(r)
		if err := r.Done(); err != nil {
			t.Fatalf("list %d: %v", n, err)
		}
		kept, want = append(kept, read, lists.Clone(names)), append(want, names, names)
	}
	for i := range kept {
		if len(want[i]) == 0 && kept[i] != nil {
			t.Errorf("list %d is %q; want nil", i, kept[i])
		}
		_ = append(kept[i], "another")
	}
	for i := range kept {
		if !slices.Equal(kept[i], want[i]) {
			t.Errorf("list %d is %q, want %q", i, kept[i], want[i])
		}
	}
}

func TestStringListsAllocateForMany(t *testing.T) {
	var lists canon.StringLists
	names := []string{"a", "b"}
	if n := testing.AllocsPerRun(160, func() { lists.Clone(names) }); n > 0 {
		t.Errorf("%v allocations for a list of two, want less than 1", n)
	}
}
