package threadlog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
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

// Executions returns what is on record of each task on the branch of head, which is the
// branch's newest checkpoint. It covers what was recorded since the executions began: on
// this branch and, before the fork, on its source. It does not see what another branch
// recorded after the fork. The second result is the results that are worth referring to.
func (l *Logs) Executions(ctx context.Context, head *posthouse.Header) (map[string]*Execution, []Result, error) {
	r := l.Reader(ctx, head.Thread)
	line, err := r.Lineage(head)
	if err != nil {
		return nil, nil, err
	}
	g := executionCollector{line: line, tasks: map[string]*Execution{}, gates: map[posthouse.ID]*posthouse.Gate{}, lost: MissingBodies{}}
	for e, err := range l.InOrder(ctx, head.Thread, posthouse.Range{From: line[len(line)-1].From}) {
		if err != nil {
			return nil, nil, err
		}
		recs, err := l.Vault.OpenEntry(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		for i := range recs {
			if err := g.record(e, i, &recs[i]); err != nil {
				return nil, nil, err
			}
		}
		if line.AsksAgain(e, recs) {
			g.withdraw()
		}
		g.noteEdits(e, recs)
	}
	if err := r.Account(g.lost); err != nil {
		return nil, nil, err
	}
	for _, x := range g.tasks {
		x.Edited = g.edited
	}
	return g.tasks, g.recents, nil
}

type executionCollector struct {
	line    Lineage
	tasks   map[string]*Execution
	gates   map[posthouse.ID]*posthouse.Gate
	lost    MissingBodies
	recents []Result
	edited  uint64
}

// noteEdits notes a change of the state or program in the middle of the step. If the
// step restarts there, it removes what no longer counts.
func (g *executionCollector) noteEdits(e *posthouse.Entry, recs []posthouse.Record) {
	for i := range recs {
		c := recs[i].Checkpoint
		if c == nil || !g.line.Sees(c.Branch, e.Seq) {
			continue
		}
		if isSaved(c) && g.line.isWithin(e.Seq) {
			g.edited = e.Seq
		}
		switch c.Kind {
		case posthouse.KindUpdate, posthouse.KindFork, posthouse.KindMigrate:
			g.edited = e.Seq
		case posthouse.KindRestartStep:
			g.edited = e.Seq
			for _, x := range g.tasks {
				x.RestartStep()
			}
		}
	}
}

// RestartStep removes what an execution that begins anew does not know, unless it completed:
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
	recordDone    = "$done"         // the execution completed
	recordChild   = "$child"        // where a called thread stands
	recordUse     = ">$use"         // an effect under a grant is about to act
	RecordRequest = "coord:request" // what a coordinator was asked for
)

// CodecFailed marks a call that failed in a program that went on. The record has no result; it
// says that the order may differ the next time.
const CodecFailed = "posthouse-failed"

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

func (g *executionCollector) task(name string) *Execution {
	x := g.tasks[name]
	if x == nil {
		x = &Execution{}
		g.tasks[name] = x
	}
	return x
}

func (g *executionCollector) record(e *posthouse.Entry, i int, rec *posthouse.Record) (err error) {
	switch {
	case rec.Step != nil && g.line.Sees(rec.Step.Branch, e.Seq):
		if g.lost.Note(e, i, rec) {
			return nil
		}
		s := ReadStep(e, rec, e.Bodies[i])
		x := g.task(s.Task)
		x.Steps = append(x.Steps, s)
		if len(s.Value.Data) >= MinRef {
			g.recents = append(g.recents, Result{e.Seq, i, s.Value.Data})
		}
	case rec.Gate != nil && g.line.Sees(rec.Gate.Branch, e.Seq):
		if g.lost.Note(e, i, rec) {
			return nil
		}
		q, err := posthouse.ReadGateBody(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		g.gates[q.ID] = q
		x := g.task(rec.Gate.Task)
		x.Open(q, len(x.Steps)-q.Record.Followed)
	case rec.Vote != nil, rec.Assignment != nil:
		gate, _, _, _ := rec.Trail()
		if q := g.gates[gate]; q != nil && g.line.Sees(q.Branch, e.Seq) {
			err = addTrail(q, e, rec, e.Bodies[i], false)
		}
	case rec.Decision != nil:
		if q := g.gates[rec.Decision.Gate]; q != nil && g.line.Sees(q.Branch, e.Seq) {
			q.Decision, err = ReadDecisionBody(e, rec, e.Bodies[i])
		}
	}
	return err
}

// withdraw removes the unanswered gates, except unanswered questions to people:
// their successors refer to them.
func (g *executionCollector) withdraw() {
	gone := func(q *posthouse.Gate) bool { return q.Unanswered() && !(q.AsksPeople() && q.Withdrawn()) }
	maps.DeleteFunc(g.gates, func(_ posthouse.ID, q *posthouse.Gate) bool { return gone(q) })
	for _, x := range g.tasks {
		x.Gates = WithoutGates(x.Gates, gone)
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

// Open adds a gate that was opened behind a number of steps. A question that a fork
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
