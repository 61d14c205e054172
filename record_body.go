package posthouse

import (
	"encoding/json"
	"time"
)

// A StepRecord is a recorded step result.
type StepRecord struct {
	Step
	Seq uint64
	At  time.Time
}

// Unanswered reports whether nobody decided a gate. A cancellation by the branch that
// went on without it counts as nobody.
func (g *Gate) Unanswered() bool {
	return g.Decision == nil || g.Decision.Verdict == Cancel && g.Decision.By == RuntimeActor
}

// ReadGateBody returns the gate of a record with its body. [ErrCorrupt] if the body
// does not decode, or its digest is not the header's.
func ReadGateBody(e *Entry, r *Record, body []byte) (*Gate, error) {
	g := &Gate{}
	b := gateBody{Gate: g}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, Corrupt("gate %s at entry %d of thread %q does not decode: %v", r.Gate.ID, e.Seq, e.Thread, err)
	}
	g.ID, g.Thread, g.Branch, g.Seq, g.Hash, g.Decision = r.Gate.ID, e.Thread, r.Gate.Branch, e.Seq, e.Hash, nil
	g.Votes, g.Assignments, g.Record.Followed, g.Record.Salt = nil, nil, b.Followed, b.Salt
	if r.Gate.Content != g.Digest() {
		return nil, Corrupt("gate %s at entry %d of thread %q does not show what its header has the digest of", r.Gate.ID, e.Seq, e.Thread)
	}
	return g, nil
}
