package threadlog

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/story"
)

// MissingBodies are bodies that were looked for and not found. If a removal record
// lists them, their records are ignored; otherwise the log is damaged. See
// [Reader.Account].
type MissingBodies map[posthouse.BodyRef]bool

// Note reports whether a record's body is missing, and notes its place.
func (a MissingBodies) Note(e *posthouse.Entry, i int, r *posthouse.Record) bool {
	if r.Size == 0 || len(e.Bodies[i]) > 0 {
		return false
	}
	a[posthouse.BodyRef{Seq: e.Seq, Record: i}] = true
	return true
}

// Account returns an [posthouse.ErrCorrupt] unless removal records list all missing
// bodies.
func (r *Reader) Account(a MissingBodies) error {
	if len(a) == 0 {
		return nil
	}
	var removals []uint64
	for e, err := range r.Logs.Store.Read(r.Ctx, r.Thread, posthouse.Range{Headers: true}) {
		if err != nil {
			return err
		}
		recs, err := e.Records()
		if err != nil {
			return err
		}
		for i := range recs {
			if recs[i].Removal != nil {
				removals = append(removals, e.Seq)
			}
		}
	}
	for _, seq := range removals {
		list, err := r.RemovedList(seq)
		if err != nil {
			return err
		}
		for _, b := range list.Bodies {
			delete(a, b)
		}
	}
	for b := range a {
		return posthouse.Corrupt("the body of record %d of entry %d of thread %q is gone, and no removal lists it", b.Record, b.Seq, r.Thread)
	}
	return nil
}

// ReadDecisionBody returns the decision of a record with its body.
func ReadDecisionBody(e *posthouse.Entry, r *posthouse.Record, body []byte) (*posthouse.Decision, error) {
	d := &posthouse.Decision{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, posthouse.Corrupt("the decision of gate %s at entry %d of thread %q does not decode: %v", r.Decision.Gate, e.Seq, e.Thread, err)
	}
	return d, nil
}

// ReadStep returns the step result of a record of an opened entry, with the notes on it that are
// there.
func ReadStep(e *posthouse.Entry, recs []posthouse.Record, i int) (posthouse.StepRecord, error) {
	r := recs[i].Step
	s := posthouse.StepRecord{
		Step: posthouse.Step{
			Task: r.Task, Name: r.Name, Occurrence: r.Occurrence, Effect: r.Effect, Grant: r.Grant,
			Value: posthouse.Value{Codec: r.Codec, Data: e.Bodies[i]}, Unordered: r.Unordered,
			Story: posthouse.Story{Took: r.Took, Attempts: r.Attempts},
		},
		Seq: e.Seq, At: e.Time(),
	}
	if n := NoteOn(recs, i); n > 0 && len(e.Bodies[n]) > 0 {
		return s, story.Read(e, e.Bodies[n], &s.Story)
	}
	return s, nil
}

// NoteOn returns the index of the record with the notes on a record, 0 for no notes.
func NoteOn(recs []posthouse.Record, i int) int {
	if i+1 < len(recs) && recs[i+1].Note != nil {
		return i + 1
	}
	return 0
}
