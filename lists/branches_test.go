package lists_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

func headsOf(names ...string) (heads []posthouse.BranchHead) {
	for _, name := range names {
		heads = append(heads, posthouse.BranchHead{Branch: name})
	}
	return heads
}

func namesOf(heads []posthouse.BranchHead) (names []string) {
	for _, h := range heads {
		names = append(names, h.Branch)
	}
	return names
}

// TestBranchesAreSortedAsPeopleCount: numbers in names count by their value, main is first, and what was sorted is
// another slice.
func TestBranchesAreSortedAsPeopleCount(t *testing.T) {
	want := []string{"main", "", "2", "10", "Fork-1", "a1b2", "a01b10", "a1b10", "fork", "fork-", "fork-5", "fork-007", "fork-40", "fork-40-a", "fork-99999999999999999999998", "fork-99999999999999999999999", "fork-x", "länge-2", "länge-11"}
	for seed := range uint64(20) {
		mixed := headsOf(want...)
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		before := strings.Join(namesOf(mixed), " ")
		if have := namesOf(lists.SortBranches(mixed)); !slices.Equal(have, want) {
			t.Fatalf("seed %d: %q, want %q", seed, have, want)
		}
		if after := strings.Join(namesOf(mixed), " "); after != before {
			t.Fatalf("seed %d: it changed its argument", seed)
		}
	}
}

// Branches as people look for them.
func ExampleSortBranches() {
	for _, b := range lists.SortBranches(headsOf("fork-10", "fork-9", "main")) {
		fmt.Print(b.Branch, " ")
	}
	// Output: main fork-9 fork-10
}
