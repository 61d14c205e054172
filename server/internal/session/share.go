package session

// mostOf returns the owner who has most of the items, and how many. Of two with as many it
// is the one with the name that comes first.
func mostOf[K comparable, V any](items map[K]V, owner func(V) string) (most string, n int) {
	count := map[string]int{}
	for _, x := range items {
		count[owner(x)]++
	}
	for name, have := range count {
		if have > n || have == n && name < most {
			most, n = name, have
		}
	}
	return most, n
}

// oldestOf returns an owner's item that is least by a time.
func oldestOf[K comparable, V any](items map[K]V, of string, owner func(V) string, less func(a, b V) bool) (oldest K, found bool) {
	for k, x := range items {
		if owner(x) == of && (!found || less(x, items[oldest])) {
			oldest, found = k, true
		}
	}
	return oldest, found
}

// countOf returns how many of the items an owner has.
func countOf[K comparable, V any](items map[K]V, of string, owner func(V) string) (n int) {
	for _, x := range items {
		if owner(x) == of {
			n++
		}
	}
	return n
}
