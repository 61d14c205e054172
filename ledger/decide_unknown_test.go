package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestCallersDoNotSayThatAnOutcomeIsUnknown: that follows from what a worker left.
func TestCallersDoNotSayThatAnOutcomeIsUnknown(t *testing.T) {
	b := newBench(t)
	asked := must.Get(b.a.Commit(t.Context(), &ledger.Draft{
		Thread: "asked", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "q"}},
	}))(t)
	g := asked.Gates[0]
	done := must.Get(b.a.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Reject, By: "alice", Unknown: true}))(t)
	if read := must.Get(b.b.Gate(t.Context(), g.ID))(t); done.Decision.Unknown || read.Decision.Unknown {
		t.Errorf("the decision is %+v, read as %+v", done.Decision, read.Decision)
	}
}

// TestStepsWithoutNotesAreOneRecord: a draft has as many of them as an entry has records, and half as
// many with notes.
func TestStepsWithoutNotesAreOneRecord(t *testing.T) {
	b := newBench(t)
	draft := func(n int, notes []posthouse.Note) *ledger.Draft {
		d := &ledger.Draft{Thread: fmt.Sprint("steps", n, len(notes))}
		for i := range n {
			s := posthouse.Step{Task: "t", Name: fmt.Sprint("s", i), Value: posthouse.Value{Codec: "json", Data: json.RawMessage("1")}}
			s.Story.Notes = notes
			d.Steps = append(d.Steps, s)
		}
		return d
	}
	const most = posthouse.MaxRecords - 8
	must.Get(b.a.Commit(t.Context(), draft(most, nil)))(t)
	_, err := b.a.Commit(t.Context(), draft(most+1, nil))
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = b.a.Commit(t.Context(), draft(most/2+1, []posthouse.Note{{Line: "x"}}))
	must.Fail(t, err, posthouse.ErrInvalid)
}
