package core

import (
	"bytes"
	"context"
	"encoding/json"
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
	// changed its state or its program: an update, a fork or a migration. It is 0
	// without one. The program may ask differently after it.
	Edited uint64

	Before map[posthouse.ID]int // for StepsBefore
}

// StepsBefore returns how many of Steps were on record when one of Gates was opened.
// For a question that a fork asks again, it is the place of the original.
func (x *Execution) StepsBefore(gate posthouse.ID) int { return min(x.Before[gate], len(x.Steps)) }

// Executions returns what is on record of each task on the branch of head, which is the
// branch's newest checkpoint. It covers what was recorded since the executions began: on
// this branch and, before the fork, on its source. It does not see what another branch
// recorded after the fork.
func (c *Core) Executions(ctx context.Context, head *posthouse.Header) (map[string]*Execution, error) {
	r := c.Reader(ctx, head.Thread)
	line, err := r.Lineage(head)
	if err != nil {
		return nil, err
	}
	g := executionCollector{line: line, tasks: map[string]*Execution{}, gates: map[posthouse.ID]*posthouse.Gate{}, lost: MissingBodies{}}
	for e, err := range c.InOrder(ctx, head.Thread, posthouse.Range{From: line[len(line)-1].From}) {
		if err != nil {
			return nil, err
		}
		recs, err := c.Opened(ctx, e)
		if err != nil {
			return nil, err
		}
		for i := range recs {
			if err := g.record(e, i, &recs[i]); err != nil {
				return nil, err
			}
		}
		if line.AsksAgain(e, recs) {
			g.withdraw()
		}
		g.noteEdits(e, recs)
	}
	if err := r.Account(g.lost); err != nil {
		return nil, err
	}
	for _, x := range g.tasks {
		x.Edited = g.edited
	}
	return g.tasks, c.keepRecent(ctx, head, g.recents)
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
// step begins anew there, it removes what no longer counts.
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

// Records of the programming models that survive when a step begins anew.
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

// Survivors returns which results stay when the step begins anew: effects on the world, and all
// that was done within an effect under a grant. Without it the effect's function would do that
// again under the same decision.
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

// withdraw removes the unanswered gates, except questions to people that nobody
// answered: their successors refer to them.
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
	for e, err := range r.Core.Store.Read(r.Ctx, r.Thread, posthouse.Range{Headers: true}) {
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

// AsksAgain reports whether an entry holds an update, or a state saved by hand, in the middle of
// a step. Behind it an execution does not know gates that are [posthouse.Gate.Unanswered].
func (l Lineage) AsksAgain(e *posthouse.Entry, recs []posthouse.Record) bool {
	return slices.ContainsFunc(recs, func(r posthouse.Record) bool {
		c := r.Checkpoint
		return c != nil && (c.Kind == posthouse.KindUpdate || isSaved(c) && l.isWithin(e.Seq)) && l.Sees(c.Branch, e.Seq)
	})
}

// isSaved reports whether a checkpoint was saved by hand, be it as another revision.
func isSaved(c *posthouse.Header) bool { return c.Kind == posthouse.KindSave || c.Revision > 0 }

// isWithin reports whether an entry follows the checkpoint that the executions began at.
func (l Lineage) isWithin(seq uint64) bool { return seq > l[len(l)-1].From }

// RestartsStep reports whether an entry holds a checkpoint of kind anew.
func (l Lineage) RestartsStep(e *posthouse.Entry, recs []posthouse.Record) bool {
	return slices.ContainsFunc(recs, func(r posthouse.Record) bool {
		return r.Checkpoint != nil && r.Checkpoint.Kind == posthouse.KindRestartStep && l.Sees(r.Checkpoint.Branch, e.Seq)
	})
}

// keepRecent lets the next checkpoint refer to results from before a restart.
func (c *Core) keepRecent(ctx context.Context, h *posthouse.Header, rs []Result) error {
	if len(rs) == 0 {
		return nil
	}
	t, err := c.Lock(h.Thread)
	if err != nil {
		return err
	}
	defer c.Unlock(t)
	if err := c.Load(ctx, t); err != nil {
		return err
	}
	hd, err := c.headOf(ctx, t, h.Branch)
	if err == nil && hd != nil && hd.ID == h.ID && len(hd.recent) == 0 {
		rs = newest(rs)
		for i := range rs {
			rs[i].Data = bytes.Clone(rs[i].Data) // the caller has these bytes
		}
		hd.record(rs...)
	}
	return err
}

// A Lineage is the segments of the log that a branch's unfinished executions may read
// from, newest first.
type Lineage []segment

type segment struct {
	branch   string
	From, To uint64
}

// Sees reports whether an entry of a branch is in the lineage.
func (l Lineage) Sees(branch string, seq uint64) bool {
	for _, s := range l {
		if s.branch == branch && seq >= s.From && seq <= s.To {
			return true
		}
	}
	return false
}

// maxAhead bounds how many headers are read at once while a lineage is walked up.
const maxAhead = 512

// lookAhead reads headers up to an entry, which may be needed one after the other: a flow
// waits many times in one execution. What cannot be read may not be needed.
func (r *Reader) lookAhead(to, n uint64) {
	if n > 1 {
		r.makeRoom()
		_ = r.Fetch(posthouse.Range{From: to - min(n, to) + 1, To: to, Headers: true})
	}
}

// Lineage walks up from head to the checkpoint that the execution began at: the first
// that counts as a step. Waits, failures, forks and updates in the middle of a step do
// not. A revision of that checkpoint ends no execution.
func (r *Reader) Lineage(head *posthouse.Header) (Lineage, error) {
	line, start, err := r.walkUp(head)
	if err == nil && start.Revision > 0 {
		line[len(line)-1].From, err = r.firstRevision(start)
	}
	return line, err
}

// firstRevision returns where a checkpoint was first saved, or where the log begins.
func (r *Reader) firstRevision(h *posthouse.Header) (from uint64, err error) {
	from = h.Seq
	for e, err := range r.Core.InOrder(r.Ctx, r.Thread, posthouse.Range{To: h.Seq - 1, Reverse: true, Headers: true}) {
		if err != nil {
			return 0, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return 0, err
		}
		for i := range recs {
			if c := recs[i].Checkpoint; c != nil && c.ID == h.ID {
				if from = e.Seq; c.Revision == 0 {
					return from, nil
				}
			}
			if recs[i].Removal != nil && recs[i].Removal.Whole || recs[i].Release != nil {
				return from, nil
			}
		}
	}
	return from, nil
}

// walkUp returns the lineage, and the checkpoint that it ends at.
func (r *Reader) walkUp(head *posthouse.Header) (Lineage, *posthouse.Header, error) {
	line := Lineage{{head.Branch, head.Seq, ^uint64(0)}}
	h := head
	for ahead := uint64(1); h.ParentSeq != 0 && (posthouse.StepOf(h.Kind) == 0 || h.Kind == posthouse.KindUpdate || h.Kind == posthouse.KindSave); {
		if r.Have[h.ParentSeq] == nil {
			r.lookAhead(h.ParentSeq, ahead)
			ahead = min(8*ahead, maxAhead)
		}
		parent, err := r.Header(h.ParentSeq)
		if err != nil {
			return nil, nil, err
		}
		if !posthouse.GoesOn(h, parent) {
			return line, h, nil
		}
		h = parent
		if last := &line[len(line)-1]; last.branch == h.Branch {
			last.From = h.Seq
		} else {
			line = append(line, segment{h.Branch, h.Seq, h.Seq}) // up to the fork, not beyond
		}
	}
	if h.ParentSeq != 0 || posthouse.StepOf(h.Kind) != 0 || h.Seq == 1 {
		return line, h, nil
	}
	var err error
	line[len(line)-1].From, err = r.executionStart(h)
	return line, h, err
}

// executionStart returns where the execution began in whose middle a root stands:
// behind the branch's previous checkpoint, or at the log's beginning.
func (r *Reader) executionStart(root *posthouse.Header) (from uint64, err error) {
	from = root.Seq
	for e, err := range r.Core.InOrder(r.Ctx, r.Thread, posthouse.Range{To: root.Seq - 1, Reverse: true, Headers: true}) {
		if err != nil {
			return 0, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return 0, err
		}
		for i := range recs {
			if c := recs[i].Checkpoint; c != nil && c.Branch == root.Branch || recs[i].Removal != nil && recs[i].Removal.Whole || recs[i].Release != nil {
				return from, nil
			}
		}
		from = e.Seq
	}
	return from, nil
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
