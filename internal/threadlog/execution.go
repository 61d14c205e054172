package threadlog

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
)

// An Execution is what is on record of one execution of a node or handler: results that
// are not computed again, and questions that were asked.
type Execution struct {
	Steps []posthouse.StepRecord // in the order they were recorded
	Gates []*posthouse.Gate      // in the order in which they were opened, with their decisions

	// Edited is the entry of the newest checkpoint in the middle of the execution that
	// changed its state or its program: an update, a fork or a migration. It is 0 if
	// there is no such checkpoint. The program may ask differently after it.
	Edited uint64

	Before map[posthouse.ID]int // for StepsBefore
}

// StepsBefore returns how many of Steps were on record when one of Gates was opened.
// For a question that a fork asks again, it is the place of the original.
func (x *Execution) StepsBefore(gate posthouse.ID) int {
	return min(x.Before[gate], len(x.Steps))
}

// RestartStep removes what an execution that begins again does not know, unless it completed:
// its waits, and results except those of effects on the world, with all that was done within
// them. The order of these no longer counts. Threads that it called are continued.
func (x *Execution) RestartStep() {
	if x.Completed() {
		return
	}
	stays := x.Survivors()
	x.Steps = slices.DeleteFunc(x.Steps, func(s posthouse.StepRecord) bool { return !stays(&s) })
	for i := range x.Steps {
		x.Steps[i].Unordered = true
	}
	x.Gates = slices.DeleteFunc(x.Gates, func(q *posthouse.Gate) bool { return !q.AsksPeople() && q.Kind != posthouse.GateThread })
}

// Records of the programming models that survive the restart of a step.
// docs/format.md has their names.
const (
	recordDone    = "$done"                   // the execution completed
	recordChild   = "$child"                  // where a called thread stands
	recordUse     = ">" + effect.RecordBegins // an effect under a grant is about to act
	RecordRequest = "coord:request"           // what a coordinator was asked for
)

// CodecFailed marks a call that failed in a program that went on. The record has no result; it
// says that the order may differ the next time.
const CodecFailed = effect.CodecFailed

// Completed reports whether the execution ended while others beside it did not.
func (x *Execution) Completed() bool {
	return slices.ContainsFunc(x.Steps, func(s posthouse.StepRecord) bool { return s.Name == recordDone })
}

// HasActed reports whether an execution has on record what must not happen twice: an
// effect on the world, or the answer of a person. x may be nil.
func (x *Execution) HasActed() bool {
	if x == nil {
		return false
	}
	stays := x.Survivors()
	return slices.ContainsFunc(x.Steps, func(s posthouse.StepRecord) bool { return s.Name != RecordRequest && stays(&s) }) ||
		slices.ContainsFunc(x.Gates, func(q *posthouse.Gate) bool { return q.AsksPeople() && q.Decision != nil && !q.Withdrawn() })
}

// Survivors returns which results stay when the step restarts: effects on the world, and all
// steps within an effect under a grant. Without it the effect's function would do that again
// under the same decision.
func (x *Execution) Survivors() func(*posthouse.StepRecord) bool {
	var within []string
	for i := range x.Steps {
		s := &x.Steps[i]
		if call, ok := strings.CutSuffix(s.Name, recordUse); ok && s.Grant != "" && !slices.Contains(within, call+">") {
			within = append(within, call+">")
		}
	}
	return func(s *posthouse.StepRecord) bool {
		switch {
		case s.Effect == posthouse.EffectExternal, s.Effect == posthouse.EffectHuman, s.Grant != "":
			return true
		case s.Name == recordChild, s.Name == RecordRequest:
			return true
		}
		return slices.ContainsFunc(within, func(effect string) bool { return strings.HasPrefix(s.Name, effect) })
	}
}

// WithoutGates returns the gates of executions, in the order in which they were opened, without
// those that are gone. A wait goes with all that it had before, such as a task's failure after
// which the task was opened again: what it was once answered does not come back.
func WithoutGates(gates []*posthouse.Gate, gone func(*posthouse.Gate) bool) []*posthouse.Gate {
	type wait struct {
		task, name string
		occurrence uint32
	}
	over := map[wait]bool{}
	kept := make([]*posthouse.Gate, 0, len(gates))
	for _, g := range slices.Backward(gates) {
		w := wait{g.Task, g.Name, g.Occurrence}
		isOver := gone(g)
		if !g.AsksPeople() {
			isOver = isOver || over[w]
			over[w] = isOver
		}
		if !isOver {
			kept = append(kept, g)
		}
	}
	slices.Reverse(kept)
	return kept
}

// Open adds a gate that was opened after a number of steps. A question that a fork
// asks again gets the place of the original.
func (x *Execution) Open(g *posthouse.Gate, before int) {
	if x.Before == nil {
		x.Before = map[posthouse.ID]int{}
	}
	for i, old := range x.Gates {
		if old.Name == g.Name && old.Occurrence == g.Occurrence && old.Decision == nil && (!g.AsksPeople() || old.Content() == g.Content()) {
			x.Gates[i], x.Before[g.ID] = g, x.Before[old.ID]
			return
		}
	}
	x.Gates, x.Before[g.ID] = append(x.Gates, g), max(before, 0)
}
