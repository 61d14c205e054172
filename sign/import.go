package sign

import (
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
)

// ImportCheck returns a check for [transfer.ImportOptions]: a thread is refused
// unless every signature in it is by a key of the ring and valid, and whatever a
// Ledger with a key leaves to no later signature is covered by one, and so is each
// checkpoint that would run at once: what a lost run wrote in its last second may
// be covered by none. So nobody brings in a decision in another's name. [posthouse.ErrForbidden], which says
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
		for _, b := range c.info.Branches {
			if b.Status.Runnable() && b.Seq > c.covered {
				return unverified(c.thread, "branch "+b.Branch+" would run, and nobody has signed entry "+strconv.FormatUint(b.Seq, 10)+" where it is")
			}
		}
		return nil
	}
}

// ImportCheck is [ImportCheck] with the ring: it makes a ring a
// [posthouse.Verifier].
func (r *Ring) ImportCheck() func(*posthouse.Entry) error { return ImportCheck(r) }

// ImportCheck is [ImportCheck] with the key alone, so that a Ledger that signs with
// it takes by default what it signed itself: a [posthouse.Verifier].
func (k *Key) ImportCheck() func(*posthouse.Entry) error {
	ring, err := NewRing(k.public)
	if err != nil {
		return func(*posthouse.Entry) error { return err }
	}
	return ImportCheck(ring)
}

func unverified(thread, why string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: fmt.Sprintf("thread %q cannot be verified: %s", thread, why),
		Hint: "nothing was written; give the public keys of where it comes from, or import it unverified (ImportOptions.Unverified): then it is interrupted, and nothing runs before somebody resumes it",
	}
}
