package runs

// A Failure is the error of a step that failed in an earlier execution of a program which
// continued after it: the code that got the error recorded another step or the use of a grant,
// asked a question, waited, took a signal or gave a task to a worker. The step is not done again;
// its error is returned again, whatever error ended the run, so that the program takes the same
// way: what it compensated is not done, and people's decisions stand. Records of steps in parallel
// with it do not count. A step that did not run or was stopped is tried again, and so is the last
// failure on record of a run that failed, if only notes and steps of class pure or read follow it.
// Steps below step.Unordered are always tried again.
//
// It has the text of the error. [errors.Is] finds what that wrapped by type and text, and
// [errors.As] errors of types that keep all of themselves in their JSON. A program that
// takes another way all the same, past what people decided, fails with an
// [posthouse.ErrInvalid] that says so.
type Failure struct {
	Step string // the call, as in "charge[1]"
	Err  error  // the error as it was recorded
}

// Error returns the text of the error.
func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Failure) Unwrap() error { return e.Err }
