package runs

// A Failure is the error of a step that failed in an earlier execution of a program which went
// on after it: the code that got the error recorded another step, asked a question, waited for
// a signal or gave a task to a worker. The step is not done again; its error is returned again,
// so that the program takes the same way, and people's decisions stand. A failure that ended the
// run, because the error that the program returned is it or wraps it, is tried again. Records of
// steps beside it do not count, nor does a sleep. Steps below step.Unordered are always tried
// again.
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
