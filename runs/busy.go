package runs

// OnBusy says what a run does when another one has its thread. The other may be in this process
// or in another. A process that died has its threads until their leases are over.
type OnBusy uint8

// The strategies.
//
// Enqueue serves runs of this process in the order in which they came. If another process has
// the thread it looks again at least each second, and the first process to look gets the thread.
// A task must not enqueue a run of its own thread: it would wait for itself.
//
// Interrupt and Rollback cancel the other run as ledger.Ledger.Cancel does, and wait until it
// has ended. A run of another process learns of it at its next commit. If the other run ends by
// itself first, its result counts. They are for calls with an input.
//
// Rollback then restores the branch to the state before the input of the cancelled run. It does
// not change history: a checkpoint of kind update, with the earlier one as its Source, has the
// earlier state, and the new input follows it. Effects of steps on the world are not undone,
// and gates that the input had cancelled stay cancelled.
const (
	Reject    OnBusy = iota // it fails with [posthouse.ErrBusy]
	Enqueue                 // it waits in line: first come, first served in this process
	Interrupt               // it cancels the other, and goes on from what that one has on record
	Rollback                // it cancels the other, and goes on from before that one's input
)
