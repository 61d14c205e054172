package lists

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// SortBranches returns heads as people look for them: main first, then by name, with numbers in names by
// their value, so that fork-5 comes before fork-40. It leaves its argument as it is.
func SortBranches(heads []posthouse.BranchHead) []posthouse.BranchHead {
	order := func(a, b posthouse.BranchHead) int {
		if (a.Branch == posthouse.MainBranch) != (b.Branch == posthouse.MainBranch) {
			if a.Branch == posthouse.MainBranch {
				return -1
			}
			return 1
		}
		return compareNumbered(a.Branch, b.Branch)
	}
	if slices.IsSortedFunc(heads, order) {
		return heads
	}
	sorted := slices.Clone(heads)
	slices.SortFunc(sorted, order)
	return sorted
}

// compareNumbered compares names, with runs of digits in them by their value.
func compareNumbered(a, b string) int {
	for x, y := a, b; ; {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			u, v := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(u), len(v)), cmp.Compare(u, v)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x == "" || y == "" || x[0] != y[0] {
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b)) // the same but for zeros before numbers
		}
		x, y = x[1:], y[1:]
	}
}

// digits returns how many digits a text begins with.
func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
