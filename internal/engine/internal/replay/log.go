package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// codecWait stands for a wait in the order of a replay. It is not on record.
const codecWait = "posthouse-wait"

// A callKey names one call: the n-th of its name.
type callKey struct {
	name string
	n    uint32
}

// A Log is what is on record of an execution. A nil Log is that of one which begins. It is not
// safe for concurrent use.
type Log struct {
	results   map[callKey]*posthouse.StepRecord
	within    map[string][]*posthouse.StepRecord // results by each call that they are within, in the order of the log
	gates     map[callKey]*posthouse.Gate        // waits of the program and of the runtime
	questions []*Question                        // what people were asked, in the order of the first gates
	edited    uint64                             // see [threadlog.Execution.Edited]
	order     []*posthouse.StepRecord            // outermost calls as recorded; nil once order no longer matters
	failed    map[callKey]bool                   // calls that failed once in a program that went on; may be nil
	// failures are those of them that the program acted after: what they returned stands.
	failures map[callKey]*posthouse.StepRecord
	stands   map[callKey]string // what is on record after those of failures that stand, see [threadlog.Failure]; may be nil
	left     int                // outermost results and gates not asked for yet; 0 once something new was
}

// New returns what a run on the branch finds, nil for nothing. A question that is still open
// on the branch it was forked from is asked again.
func New(e *threadlog.Execution, branch string) *Log {
	if e == nil || cap(e.Steps)+len(e.Gates) == 0 {
		return nil
	}
	l := &Log{
		results: make(map[callKey]*posthouse.StepRecord, len(e.Steps)),
		gates:   make(map[callKey]*posthouse.Gate, len(e.Gates)),
		edited:  e.Edited,
	}
	waits := l.addGates(e, branch)
	l.order = make([]*posthouse.StepRecord, 0, len(e.Steps)+len(waits))
	for i := range e.Steps {
		s := &e.Steps[i]
		waits = l.addWaits(waits, i)
		k := callKey{s.Name, s.Occurrence}
		if s.Value.Codec != threadlog.CodecFailed && l.results[k] == nil {
			l.results[k] = s // the first result of a call stands
			l.addWithin(s)
			l.left += outermost(s.Name)
		}
		if !strings.Contains(s.Name, Nested) && !s.Unordered && s.Name != Notes {
			l.order = append(l.order, s)
		}
		if s.Value.Codec == threadlog.CodecFailed {
			if l.failed == nil {
				l.failed = map[callKey]bool{}
			}
			l.failed[k] = true
		}
	}
	l.addWaits(waits, len(e.Steps))
	for _, f := range e.Failures() {
		l.addFailure(f.Step)
		if f.Stands() {
			b := &f.Behind[0]
			l.keepFailure(f.Step, strings.TrimPrefix(CallName(b.Name, b.Occurrence), f.Step.Name[:strings.LastIndex(f.Step.Name, Nested)+1]))
		}
	}
	return l
}

// Empty returns a Log for an execution that had nothing on record and attempts a step again:
// the next attempt finds what this one records within it.
func Empty() *Log { return New(&threadlog.Execution{Steps: make([]posthouse.StepRecord, 0, 1)}, "") }

// A place is a wait with a place in the order that counts.
type place struct {
	before int // steps that were on record when it began
	wait   posthouse.StepRecord
}

// addWaits adds the first of the waits to the order: those with a number of steps before them.
func (l *Log) addWaits(waits []place, before int) (rest []place) {
	for len(waits) > 0 && waits[0].before == before {
		l.order = append(l.order, &waits[0].wait)
		waits = waits[1:]
	}
	return waits
}

// addGates adds the gates, and returns the waits with a place in the order.
func (l *Log) addGates(e *threadlog.Execution, branch string) []place {
	waits := make([]place, 0, len(e.Gates))
	for _, g := range e.Gates {
		if g.Decision == nil && g.Branch != branch {
			continue
		}
		if g.AsksPeople() {
			l.addQuestion(g)
			continue
		}
		k := callKey{g.Name, g.Occurrence}
		if isWait(g) && outermost(g.Name) > 0 && !isWait(l.gates[k]) { // a task's later attempt has the place of its first
			waits = append(waits, place{e.StepsBefore(g.ID), posthouse.StepRecord{Seq: g.Seq, Step: posthouse.Step{
				Task: g.Task, Name: g.Name, Occurrence: g.Occurrence, Value: posthouse.Value{Codec: codecWait},
			}}})
		}
		if l.gates[k] == nil {
			l.left += outermost(g.Name)
		}
		l.gates[k] = g // a reopened gate replaces its original
	}
	slices.SortStableFunc(waits, func(a, b place) int { return cmp.Compare(a.before, b.before) })
	return waits
}

// Notes is the name under which notes are on record that no result came with: within a call those
// of an attempt that failed.
const Notes = "$note"

// Replaying reports whether something is on record that the execution has not asked for yet.
// It is false from the first call or question that is not on record.
func (l *Log) Replaying() bool { return l != nil && l.left > 0 }

// CountReplayed counts one thing off what is left to replay.
func (l *Log) CountReplayed(name string, found bool) {
	if l == nil || strings.HasPrefix(name, Reserved) { // the runtime looks for those, not the program
		return
	}
	if l.left -= outermost(name); l.left < 0 || !found {
		l.left = 0
	}
}

// TakeRecord takes the result of a call out of the replay.
func (l *Log) TakeRecord(name string, n uint32) *posthouse.StepRecord {
	if l == nil {
		return nil
	}
	s := l.results[callKey{name, n}]
	if s == nil && isWait(l.gates[callKey{name, n}]) {
		return nil // its gate is what counts
	}
	l.CountReplayed(name, s != nil)
	if i := slices.Index(l.order, s); i == 0 {
		l.order = l.order[1:]
	} else if i > 0 {
		l.order = slices.Delete(l.order, i, i+1)
	}
	return s
}

// TakeInOrder is TakeRecord for a call with a place in the order that counts. If another
// record is next, it returns that instead.
func (l *Log) TakeInOrder(name string, n uint32) (s, instead *posthouse.StepRecord) {
	if l == nil {
		return nil, nil
	}
	if s := l.results[callKey{name, n}]; s != nil && s.Unordered {
		return l.TakeRecord(name, n), nil
	}
	if len(l.order) > 0 {
		want := l.order[0]
		if want.Name != name || want.Occurrence != n {
			return nil, want
		}
		switch want.Value.Codec {
		case threadlog.CodecFailed:
			l.order = nil // this time it may succeed: anything may follow
		case codecWait:
			l.order = l.order[1:]
		}
	}
	return l.TakeRecord(name, n), nil
}

// otherThan reports whether the record that is next in order is not that of a call.
func (l *Log) otherThan(name string, n uint32) bool {
	if s := l.failures[callKey{name, n}]; len(l.order) == 0 || s != nil && s.Unordered {
		return false
	}
	return l.order[0].Name != name || l.order[0].Occurrence != n
}

// TakeOfGroup is TakeRecord for a call that ran beside others. It was begun in order, but
// its record may stand anywhere after its place.
func (l *Log) TakeOfGroup(name string, n uint32) *posthouse.StepRecord {
	if l == nil {
		return nil
	}
	if l.failed[callKey{name, n}] {
		i := slices.IndexFunc(l.order, func(s *posthouse.StepRecord) bool {
			return s.Name == name && s.Occurrence == n && s.Value.Codec == threadlog.CodecFailed
		})
		l.order = l.order[:max(i, 0)] // this time it may succeed: anything may follow
	}
	return l.TakeRecord(name, n)
}

// Unorder gives the order of calls up: results are found by key only from here on.
func (l *Log) Unorder() {
	if l != nil {
		l.order = nil
	}
}

// Unasked returns the call that the record has next, of an execution that has ended. It is nil
// if there is no such call, or the code went on differently after a failure.
func (l *Log) Unasked() *posthouse.Step {
	if l == nil {
		return nil
	}
	for _, s := range l.order {
		switch s.Value.Codec {
		case threadlog.CodecFailed:
			return nil
		case codecWait:
		default:
			return &s.Step
		}
	}
	return nil
}
