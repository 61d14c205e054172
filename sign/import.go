package sign

import (
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
)

// ImportCheck returns a check for one import, see transfer.ImportOptions: it makes a ring
// a [posthouse.Verifier]. The check refuses a thread with [posthouse.ErrForbidden], which
// says what could not be verified, unless
//
//   - each signature in it is valid and by a key of the ring,
//   - signatures cover all records that a Ledger with a key always covers, so that
//     a decision cannot be imported in another's name, and
//   - a signature covers each checkpoint that would run at once. The last second of a
//     lost run may be unsigned.
//
// An empty or nil ring refuses every thread.
func (r *Ring) ImportCheck() func(*posthouse.Entry) error {
	var c *chain
	return func(e *posthouse.Entry) error {
		if e != nil {
			if c == nil {
				c = newChain(e.Thread, r, nil)
			}
			c.entry(examine(e, c.ring))
			return nil
		}
		if c == nil {
			return nil
		}
		c.finish(true)
		if len(r.Keys()) == 0 {
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
			if b.Status.Runnable() && b.Seq > c.coverage.covered {
				return unverified(c.thread, "branch "+b.Branch+" would run, and nobody has signed entry "+strconv.FormatUint(b.Seq, 10)+" where it is")
			}
		}
		return nil
	}
}

// ImportCheck is [Ring.ImportCheck] for a ring of this key. So a Ledger that signs with a
// key admits by default what it signed itself.
func (k *Key) ImportCheck() func(*posthouse.Entry) error {
	ring, err := NewRing(k.public)
	if err != nil {
		return func(*posthouse.Entry) error { return err }
	}
	return ring.ImportCheck()
}

func unverified(thread, why string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: fmt.Sprintf("thread %q cannot be verified: %s", thread, why),
		Hint: "nothing was written; give the public keys of where it comes from, or import it unverified (ImportOptions.Unverified): then it is interrupted, and nothing runs before somebody resumes it",
	}
}
