package posthouse

import (
	"fmt"
)

// Absent says of a thread that is gone that it is, and where its versions are.
func (t *ThreadInfo) Absent() *Error {
	e := NotFound("thread", t.Thread)
	if t.Releases > 0 {
		e.Message = fmt.Sprintf("thread %q was released, and nothing has begun under its name since", t.Thread)
		e.Hint = "see its versions: posthouse thread versions " + t.Thread + ", or Ledger.Releases"
	}
	return e
}

// Gone reports that a thread's name is free: nothing is left of it, or what
// there was is released.
func (t *ThreadInfo) Gone() bool {
	return len(t.Branches) == 0 && t.Checkpoints == 0 && len(t.Signals) == 0
}
