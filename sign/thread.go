package sign

import "github.com/posthouse/posthouse"

// A ThreadCheck verifies the entries of one thread one by one, without a store. Entries may
// lack their bodies.
type ThreadCheck struct{ c *chain }

// CheckThread begins a check before a thread's first entry. With an empty or nil ring it
// counts signatures, which then cover nothing.
func CheckThread(thread string, ring *Ring) *ThreadCheck {
	c := newChain(thread, ring, nil)
	c.absent = true
	return &ThreadCheck{c}
}

// Add checks the next entry.
func (t *ThreadCheck) Add(e *posthouse.Entry) { t.c.entry(examine(e, t.c.ring)) }

// End returns the report, after the last entry.
func (t *ThreadCheck) End() *Report {
	t.c.finish(false)
	return &t.c.report
}
