package sign

import (
	"fmt"

	"github.com/posthouse/posthouse"
)

// ImportCheck returns a check for [posthouse.ImportOptions]: a thread is refused
// unless every signature in it is by a key of the ring and valid, and whatever a
// Ledger with a key leaves to no later signature is covered by one. So nobody
// brings in a decision in another's name. [posthouse.ErrForbidden], which says
// what could not be verified; with an empty or nil ring nothing can. It is good
// for one import.
func ImportCheck(ring *Ring) func(*posthouse.Entry) error {
	var c *chain
	return func(e *posthouse.Entry) error {
		if e != nil {
			if c == nil {
				c = newChain(e.Thread, ring)
			}
			c.entry(examine(e, c.ring))
			return nil
		}
		if c == nil {
			return nil
		}
		c.end(true)
		if len(ring.Keys()) == 0 {
			return unverified(c.thread, "there are no public keys to check it with")
		}
		for _, k := range c.report.Keys {
			if !k.Known {
				return unverified(c.thread, "it is signed by "+k.ID+", which is not among the public keys")
			}
		}
		if len(c.report.Faults) > 0 {
			return unverified(c.thread, c.report.Faults[0].String())
		}
		return nil
	}
}

func unverified(thread, why string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: fmt.Sprintf("thread %q cannot be verified: %s", thread, why),
		Hint: "nothing was written; give the public keys of where it comes from, or import it unverified: then it is interrupted, and nothing runs before somebody resumes it",
	}
}
