package runs

// A Reason says how a run or a call ended.
type Reason string

// The reasons. The record decides: if a run was cancelled while it completed, the first of the
// two on record counts.
const (
	Running   Reason = ""          // it has not ended
	Done      Reason = "done"      // it is done, or parked: the result says which
	Cancelled Reason = "cancelled" // somebody cancelled it
	Failed    Reason = "failed"    // it returned an error
)
