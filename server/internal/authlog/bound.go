package authlog

import "time"

// Bounds on the records of an hour, and of what waits for the store.
const (
	maxRefused     = 20  // refusals with a record each
	maxRefusedFrom = 3   // of these, from one network
	maxLogins      = 500 // logins and logouts with a record each
	maxLoginsOf    = 20  // of these, of one person
	maxShares      = 20  // names or addresses that a sum lists
	maxQueue       = 500 // records that wait for the store, beside those of the entry that is tried

	sumTime = 5 * time.Minute
)

// A bound says what has a record of its own, and sums the rest.
type bound struct {
	all, each int // records an hour, and of these for one name

	hour time.Time // when it began
	used int
	by   map[string]int // names with a record of their own in this hour, at most all

	sum Act // of what had no record; Count is 0 without any
}

// take reports whether one more for a name has a record of its own.
func (b *bound) take(now time.Time, name string) bool {
	if age := now.Sub(b.hour); b.by == nil || age >= time.Hour || age < 0 {
		b.hour, b.used, b.by = now, 0, map[string]int{}
	}
	if b.used >= b.all || b.by[name] >= b.each {
		return false
	}
	b.used++
	b.by[name]++
	return true
}

// add sums one.
func (b *bound) add(now time.Time, name string) {
	if b.sum.Count == 0 {
		b.sum.Since = now.UTC()
	}
	b.sum.Count++
	for i := range b.sum.Of {
		if b.sum.Of[i].Name == name {
			b.sum.Of[i].Count++
			return
		}
	}
	if len(b.sum.Of) < maxShares {
		b.sum.Of = append(b.sum.Of, Share{name, 1})
		return
	}
	b.sum.Others++
}

// flush returns the sum and begins another.
func (b *bound) flush() Act {
	s := b.sum
	b.sum = Act{}
	return s
}
