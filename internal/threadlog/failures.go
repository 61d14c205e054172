package threadlog

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Failure is the failure of a call that is on record: the code that got its error recorded
// something after it.
type Failure struct {
	Step *posthouse.StepRecord // the record with the error

	// Behind is what that code recorded after it, in order, and acts on more than itself: results
	// and attempts that say more than what was read, waits, questions and signals. With any of it
	// the failure stands: the call is not made again. Without it, an execution that failed makes
	// the call again if this is the last failure that it has on record.
	Behind []Behind

	Ended uint64 // the newest entry which says that an execution ended because of it; 0: no execution did

	at int // its place among the steps
}

// Stands reports whether the call is not made again.
func (f *Failure) Stands() bool { return len(f.Behind) > 0 }

// A Behind is something that is on record after a failure.
type Behind struct {
	Name       string
	Occurrence uint32
	Seq        uint64
	Step       *posthouse.StepRecord // nil: a wait or a question
	Gate       *posthouse.Gate       // nil: a step
}

// Failures returns the failures that count in an execution, in the order in which they were
// recorded. A mark without an error, which says that a call is to be made again, does not count
// if something is on record after the failure: an earlier version made such calls again.
func (x *Execution) Failures() (all []*Failure) {
	if x == nil {
		return nil
	}
	find := func(s *posthouse.StepRecord) int {
		return slices.IndexFunc(all, func(f *Failure) bool { return f.Step.Name == s.Name && f.Step.Occurrence == s.Occurrence })
	}
	for i := range x.Steps {
		s := &x.Steps[i]
		if s.Value.Codec != CodecFailed {
			continue
		}
		f := find(s)
		if f >= 0 && len(x.behind(all[f], i)) > 0 {
			all[f].Ended = s.Seq
			continue
		}
		if f >= 0 {
			all = slices.Delete(all, f, f+1)
		}
		if len(s.Value.Data) > 0 {
			all = append(all, &Failure{Step: s, at: i})
		}
	}
	for i := range x.Steps {
		if s := &x.Steps[i]; len(all) > 0 && s.Value.Codec != CodecFailed {
			if f := find(s); f >= 0 {
				all = slices.Delete(all, f, f+1) // it was made again, and has a result
			}
		}
	}
	for _, f := range all {
		f.Behind = x.behind(f, len(x.Steps))
	}
	return all
}

// EndedBy returns the standing failure because of which an execution ended in an entry, nil if
// it ended otherwise: then a resume has something to do.
func EndedBy(failures []*Failure, seq uint64) *Failure {
	for _, f := range slices.Backward(failures) {
		if f.Ended == seq && f.Stands() {
			return f
		}
	}
	return nil
}

// behind returns what is on record after a failure, before one of the steps.
func (x *Execution) behind(f *Failure, to int) (found []Behind) {
	around := f.Step.Name[:strings.LastIndex(f.Step.Name, nested)+1]
	own := call(f.Step.Name, f.Step.Occurrence) + nested
	for i := f.at + 1; i < to; i++ {
		s := &x.Steps[i]
		if s.Value.Codec != CodecFailed && knows(s.Name, around, own) && !onlyRead(&s.Step) {
			found = append(found, Behind{Name: s.Name, Occurrence: s.Occurrence, Seq: s.Seq, Step: s})
		}
	}
	for _, g := range x.Gates {
		if before := x.StepsBefore(g.ID); before > f.at && before < to+1 && (to == len(x.Steps) || g.Seq < x.Steps[to].Seq) && knows(g.Name, around, own) {
			found = append(found, Behind{Name: g.Name, Occurrence: g.Occurrence, Seq: g.Seq, Gate: g})
		}
	}
	slices.SortStableFunc(found, func(a, b Behind) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return found
}

// knows reports whether a record is of code that got an error: below the same step, and not of
// the call that failed or of the runtime, about what is around both.
func knows(name, around, own string) bool {
	rest, ok := strings.CutPrefix(name, around)
	return ok && !strings.HasPrefix(name, own) && (!strings.HasPrefix(rest, "$") || rest == recordChild)
}

// signalTaken begins the last part of the name of a signal that was taken when it was asked for.
const signalTaken = "signal:"

// onlyRead reports whether a record changes nothing: a note, or a result of class pure or read. A
// signal that was taken is gone for others.
func onlyRead(s *posthouse.Step) bool {
	base := s.Name[strings.LastIndex(s.Name, nested)+1:]
	if strings.HasPrefix(base, signalTaken) {
		return false
	}
	return base == notes || s.Effect == posthouse.EffectPure || s.Effect == posthouse.EffectRead
}
