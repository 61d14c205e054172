package posthouse

import "fmt"

// Absent returns the error of a thread that is gone. It says where its versions are.
func (t *ThreadInfo) Absent() *Error {
	e := NotFound("thread", t.Thread)
	if t.Releases > 0 {
		e.Message = fmt.Sprintf("thread %q was released, and nothing has begun under its name since", t.Thread)
		e.Hint = "see its versions: posthouse thread versions " + t.Thread + ", or Ledger.Releases"
	}
	return e
}

// Gone reports that a thread's name is free: all of it was removed or released.
func (t *ThreadInfo) Gone() bool {
	return len(t.Branches) == 0 && t.Checkpoints == 0 && len(t.Signals) == 0
}
