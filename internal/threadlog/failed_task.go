package threadlog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// FailedTasks returns the tasks that failed for good and that the execution did nothing after, in
// the order in which they were handed out.
func (x *Execution) FailedTasks() (failed []*posthouse.Gate) {
	newest := map[posthouse.ID]posthouse.ID{} // gate by call
	for _, g := range x.Gates {
		if g.Call != nil {
			newest[g.Call.ID] = g.ID
		}
	}
	b := beginnings{x, map[string]uint64{}}
	for _, g := range x.Gates {
		if HasFailed(g) && newest[g.Call.ID] == g.ID && !b.wentOn(g) {
			failed = append(failed, g)
		}
	}
	return failed
}

// HasFailed reports whether a gate is a task that failed for good: no attempt was left, a worker
// gave it up, or its deadline passed. One that may have had its effect has not.
func HasFailed(g *posthouse.Gate) bool {
	d := g.Decision
	return g.Call != nil && d != nil && d.Successor == "" && !(d.Unknown && g.Call.Once()) &&
		(d.Verdict == posthouse.Reject || d.Verdict == posthouse.Expire)
}

// beginnings are the entries of the first records within calls of an execution, as they are looked up.
type beginnings struct {
	of    *Execution
	first map[string]uint64
}

// wentOn reports whether an execution did something after the failure of a task. Work that
// had begun next to the task before does not count, and neither does that a call around it failed.
func (b beginnings) wentOn(g *posthouse.Gate) bool {
	task := call(g.Name, g.Occurrence) + nested
	after := func(name string, n uint32, seq uint64) bool {
		if seq < g.Decision.Seq || isOfAttempt(name, task) {
			return false
		}
		began := b.within(besideCall(call(name, n)+nested, task))
		return began == 0 || began > g.Decision.Seq
	}
	return slices.ContainsFunc(b.of.Steps, func(s posthouse.StepRecord) bool {
		return s.Value.Codec != CodecFailed && after(s.Name, s.Occurrence, s.Seq)
	}) || slices.ContainsFunc(b.of.Gates, func(o *posthouse.Gate) bool { return o.ID != g.ID && after(o.Name, o.Occurrence, o.Seq) })
}

// isOfAttempt reports whether a record says something of an attempt of a call around a task, or of
// the execution as a whole: that it failed and is made again, its notes, its grant.
func isOfAttempt(name, task string) bool {
	i := strings.LastIndex(name, nested)
	if i < 0 {
		return name == attemptFailed || name == notes || strings.HasPrefix(name, retryTimer)
	}
	i += len(nested)
	return strings.HasPrefix(name[i:], "$") && strings.HasPrefix(task, name[:i])
}

// Records about an attempt of an execution as a whole: docs/format.md has their names.
const (
	attemptFailed = "$attempt"
	notes         = "$note"
	retryTimer    = "$retry-"
)

// nested separates the names of a call and what is recorded within it.
const nested = ">"

// taskAgain ends the name of the record by which a fork does not inherit that a task failed: its
// program hands the task out again.
const taskAgain = nested + "$again"

// call names one call, as in "task:price[2]" for the third.
func call(name string, n uint32) string {
	if n == 0 {
		return name
	}
	return name + "[" + strconv.FormatUint(uint64(n), 10) + "]"
}

// besideCall returns the outermost of the calls around a name that is not around a task, "" if
// all of them are.
func besideCall(name, task string) string {
	for end := 0; end < len(name); {
		end += strings.Index(name[end:], nested) + len(nested)
		if !strings.HasPrefix(task, name[:end]) {
			return name[:end]
		}
	}
	return ""
}

// within returns the entry of the first record within a call, 0 without such a record.
func (b beginnings) within(outer string) uint64 {
	seq, known := b.first[outer]
	if known || outer == "" {
		return seq
	}
	note := func(name string, n uint32, at uint64) {
		if strings.HasPrefix(call(name, n)+nested, outer) && (seq == 0 || at < seq) {
			seq = at
		}
	}
	for i := range b.of.Steps {
		note(b.of.Steps[i].Name, b.of.Steps[i].Occurrence, b.of.Steps[i].Seq)
	}
	for _, g := range b.of.Gates {
		note(g.Name, g.Occurrence, g.Seq)
	}
	b.first[outer] = seq
	return seq
}

// IsTaskAgain reports whether a record says that a fork does not inherit the failure of a task.
func IsTaskAgain(s *posthouse.StepInfo) bool {
	return strings.HasSuffix(s.Name, taskAgain)
}

// TaskAgain returns the name of the record that says so of a task, by the name of its gate.
func TaskAgain(gate string, occurrence uint32) string {
	return call(gate, occurrence) + taskAgain
}

// WithoutTask returns gates without those of a task that a fork does not inherit, by its record.
func WithoutTask(gates []*posthouse.Gate, again *posthouse.StepInfo) []*posthouse.Gate {
	return slices.DeleteFunc(slices.Clone(gates), func(g *posthouse.Gate) bool {
		return g.Call != nil && g.Task == again.Task && TaskAgain(g.Name, g.Occurrence) == again.Name
	})
}
