package threadlog

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
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

// ReadStep returns the step result of a record with its body.
func ReadStep(e *posthouse.Entry, r *posthouse.Record, body []byte) posthouse.StepRecord {
	return posthouse.StepRecord{
		Step: posthouse.Step{
			Task: r.Step.Task, Name: r.Step.Name, Occurrence: r.Step.Occurrence, Effect: r.Step.Effect, Grant: r.Step.Grant,
			Value: posthouse.Value{Codec: r.Step.Codec, Data: body}, Unordered: r.Step.Unordered,
		},
		Seq: e.Seq, At: e.Time(),
	}
}
