package sign

import "github.com/posthouse/posthouse"

// A ThreadCheck verifies the entries of one thread as they come, without a store.
// Bodies may be left out of them.
type ThreadCheck struct{ c *chain }

// CheckThread begins with a thread's first entry. With an empty or nil ring
// signatures are counted, and nothing is covered.
func CheckThread(thread string, ring *Ring) *ThreadCheck {
	c := newChain(thread, ring)
	c.absent = true
	return &ThreadCheck{c}
}

// Add takes in the next entry.
func (t *ThreadCheck) Add(e *posthouse.Entry) { t.c.entry(examine(e, t.c.ring)) }

// End returns what was found, once the last entry was added.
func (t *ThreadCheck) End() *Report {
	t.c.end(false)
	return &t.c.report
}
