package sign

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// A coverage is how far the signatures of a thread's entries reach. A signature covers the
// entries before it that are in its own run: one without a break in the chain.
type coverage struct {
	from    uint64    // first entry of the run
	signed  uint64    // newest entry with a valid signature in the run
	holes   int       // entries of the run that went with a dropped version
	since   time.Time // time of the run's newest signature, or its first entry; zero if unknown
	overdue bool      // a signature has been due since
	ever    bool      // an entry of the thread has a valid signature

	covered uint64  // newest entry that a valid signature covers, in the runs that ended
	pending []Fault // records that no signature covers yet
}

// sign takes a valid signature of an entry.
func (c *coverage) sign(seq uint64) {
	c.signed, c.ever = seq, true
	c.pending = slices.DeleteFunc(c.pending, func(f Fault) bool { return f.Seq >= c.from })
}

// endRun returns how many entries of the run are covered.
func (c *coverage) endRun() int {
	if c.signed == 0 {
		return 0
	}
	c.covered = c.signed
	return int(c.signed-c.from+1) - c.holes
}

// beginRun begins a run at an entry.
func (c *coverage) beginRun(seq uint64) {
	c.from, c.signed, c.holes, c.since, c.overdue = seq, 0, 0, time.Time{}, false // ever stays
}

// maxUnsigned is how long a writer with a key leaves entries of a thread unsigned. It is
// rounded up, because the times of entries are cut to milliseconds.
const maxUnsigned = time.Second

// isLate reports whether an entry is the first that should have been signed and is not. It
// begins to count again at an entry after a gap, where those of a dropped version are missing.
func (c *coverage) isLate(e *posthouse.Entry, gap bool) bool {
	at := e.Time()
	switch {
	case len(e.Sig) > 0:
		c.overdue = false
		if at.After(c.since) {
			c.since = at
		}
	case c.since.IsZero() || gap:
		c.since = at
	case !c.overdue && at.Sub(c.since) > maxUnsigned:
		c.overdue = true
		return true
	}
	return false
}
