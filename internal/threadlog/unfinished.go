package threadlog

import (
	"context"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// An Unfinished is what the unfinished executions of a branch have on record, up to an entry of
// the thread's log. It can be kept, and read on from there: see [Unfinished.ReadOn].
type Unfinished struct {
	logs    *Logs
	line    Lineage
	tasks   map[string]*Execution
	gates   map[posthouse.ID]*posthouse.Gate
	recents []Result
	edited  uint64

	head    uint64              // the branch's newest checkpoint
	last    LinkMark            // the entry read last
	bodies  []posthouse.BodyRef // that it was read from, in order
	lost    MissingBodies       // that it would have been read from
	size    int                 // of the bodies
	entries int                 // that were read
	over    bool                // cannot be read on
}

// Unfinished reads what is on record of each task on the branch of head, which is the
// branch's newest checkpoint. It covers what was recorded since the executions began: on
// this branch and, before the fork, on its source. It does not see what another branch
// recorded after the fork.
func (l *Logs) Unfinished(ctx context.Context, head *posthouse.Header) (*Unfinished, error) {
	r := l.Reader(ctx, head.Thread)
	line, err := r.Lineage(head)
	if err != nil {
		return nil, err
	}
	u := &Unfinished{
		logs: l, line: line, head: head.Seq,
		tasks: map[string]*Execution{}, gates: map[posthouse.ID]*posthouse.Gate{}, lost: MissingBodies{},
	}
	for e, err := range l.InOrder(ctx, head.Thread, posthouse.Range{From: line[len(line)-1].From}) {
		if err != nil {
			return nil, err
		}
		recs, err := l.Vault.OpenEntry(ctx, e)
		if err != nil {
			return nil, err
		}
		u.over = u.over || !u.goesOn(e, recs)
		if err := u.read(e, recs); err != nil {
			return nil, err
		}
	}
	u.over = u.over || len(u.lost) > 0
	return u, r.Account(u.lost)
}

// ReadOn reads the entries that were appended since. It reports whether it holds then what
// [Logs.Unfinished] would read for head. If not it must be dropped: the log was replaced, something
// in it was removed, a step began or was edited, or head is not the branch's newest checkpoint.
//
// Its last entry is read again. That it is the same says that all before it is, by the chain of
// hashes; only bodies may be gone, and a record after it lists these.
func (u *Unfinished) ReadOn(ctx context.Context, l *Logs, head *posthouse.Header) (bool, error) {
	from, found := u.last, false
	for e, err := range l.InOrder(ctx, head.Thread, posthouse.Range{From: from.Seq}) {
		if err != nil {
			return false, err
		}
		recs, err := l.Vault.OpenEntry(ctx, e)
		if err != nil {
			return false, err
		}
		if !found {
			if e.Seq != from.Seq || e.Link() != from.Link {
				return false, nil
			}
			found = true
			continue
		}
		if !u.goesOn(e, recs) {
			return false, nil
		}
		if err := u.read(e, recs); err != nil {
			return false, err
		}
	}
	return found && u.head == head.Seq && u.CanReadOn(), nil
}

// CanReadOn reports whether [Unfinished.ReadOn] may succeed.
func (u *Unfinished) CanReadOn() bool { return !u.over && len(u.lost) == 0 && u.entries > 0 }

// Entries returns how many entries it was read from.
func (u *Unfinished) Entries() int { return u.entries }

// Size returns about how many bytes it holds.
func (u *Unfinished) Size() int { return u.size + len(u.bodies)*bytesOfRecord }

// bytesOfRecord is about what a record takes beside its body.
const bytesOfRecord = 400

// Recents returns the results that are worth referring to. The caller must not change them.
func (u *Unfinished) Recents() []Result { return u.recents }

// goesOn reports whether an entry after the head only adds to what is on record. An entry up to
// the head does, unless it lists bodies to be removed that u was read from.
func (u *Unfinished) goesOn(e *posthouse.Entry, recs []posthouse.Record) bool {
	for i := range recs {
		switch r := &recs[i]; {
		case r.Release != nil:
			return false
		case r.Removal != nil:
			if u.isRemoved(e, i, r.Removal) {
				return false
			}
		case r.Checkpoint != nil && r.Checkpoint.Branch == u.line[0].branch && e.Seq > u.head:
			if !isNext(r.Checkpoint, u.head) {
				return false
			}
			u.head = e.Seq
		}
	}
	return true
}

// isNext reports whether a checkpoint follows the head of its branch in the middle of the step, and
// edits nothing.
func isNext(c *posthouse.Header, head uint64) bool {
	switch c.Kind {
	case posthouse.KindWait, posthouse.KindFail, posthouse.KindEvent, posthouse.KindInner, posthouse.KindCancel:
		return c.ParentSeq == head && c.Revision == 0
	}
	return false
}

// isRemoved reports whether a removal may concern what u was read from.
func (u *Unfinished) isRemoved(e *posthouse.Entry, record int, m *posthouse.RemovalInfo) bool {
	moved := func(b posthouse.BranchHead) bool { return b.Branch == u.line[0].branch }
	if m.Whole || m.Version != 0 || slices.ContainsFunc(m.Heads, moved) || len(e.Bodies[record]) == 0 {
		return true
	}
	var list posthouse.RemovedList
	return readRemoved(&list, e, record) != nil || slices.ContainsFunc(list.Bodies, u.wasReadFrom)
}

// read adds what is on record in the next entry.
func (u *Unfinished) read(e *posthouse.Entry, recs []posthouse.Record) error {
	for i := range recs {
		if err := u.record(e, i, recs); err != nil {
			return err
		}
	}
	if u.line.AsksAgain(e, recs) {
		u.withdraw()
	}
	u.noteEdits(e, recs)
	u.last = LinkMark{Seq: e.Seq, Prev: e.Prev, Link: e.Link()}
	u.entries++
	return nil
}

func (u *Unfinished) record(e *posthouse.Entry, i int, recs []posthouse.Record) (err error) {
	rec := &recs[i]
	switch {
	case rec.Step != nil && u.line.Sees(rec.Step.Branch, e.Seq) && IsTaskAgain(rec.Step):
		x := u.task(rec.Step.Task)
		x.Gates = WithoutTask(x.Gates, rec.Step)
	case rec.Step != nil && u.line.Sees(rec.Step.Branch, e.Seq):
		if u.lost.Note(e, i, rec) {
			return nil
		}
		u.noteBody(e, i)
		if n := NoteOn(recs, i); n > 0 && !u.lost.Note(e, n, &recs[n]) {
			u.noteBody(e, n)
		}
		s, err := ReadStep(e, recs, i)
		if err != nil {
			return err
		}
		x := u.task(s.Task)
		x.Steps = append(x.Steps, s)
		if len(s.Value.Data) >= MinRef {
			u.recents = append(u.recents, Result{e.Seq, i, s.Value.Data})
		}
	case rec.Gate != nil && u.line.Sees(rec.Gate.Branch, e.Seq):
		if u.lost.Note(e, i, rec) {
			return nil
		}
		u.noteBody(e, i)
		q, err := u.logs.known(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		u.gates[q.ID] = q
		x := u.task(rec.Gate.Task)
		x.Open(q, len(x.Steps)-q.Record.Followed)
	case rec.Vote != nil, rec.Assignment != nil, rec.Notice != nil:
		gate, _, _, _ := rec.Trail()
		if q := u.gates[gate]; q != nil && u.line.Sees(q.Branch, e.Seq) {
			u.noteBody(e, i)
			q.Record.AnswerSigned = q.Record.AnswerSigned && len(e.Sig) > 0
			err = addTrail(q, e, rec, e.Bodies[i], false)
		}
	case rec.Take != nil && rec.Take.Gate != "":
		if q := u.gates[rec.Take.Gate]; q != nil && u.line.Sees(rec.Take.Branch, e.Seq) {
			q.Decision = ReturnedBy(q, e)
		}
	case rec.Decision != nil:
		if q := u.gates[rec.Decision.Gate]; q != nil && u.line.Sees(q.Branch, e.Seq) {
			u.noteBody(e, i)
			q.Record.AnswerSigned = q.Record.AnswerSigned && len(e.Sig) > 0
			q.Decision, err = ReadDecisionBody(e, rec, e.Bodies[i])
		}
	}
	return err
}

func (u *Unfinished) task(name string) *Execution {
	x := u.tasks[name]
	if x == nil {
		x = &Execution{}
		u.tasks[name] = x
	}
	return x
}

// noteEdits notes a change of the state or program in the middle of the step. If the
// step restarts there, it removes what no longer counts.
func (u *Unfinished) noteEdits(e *posthouse.Entry, recs []posthouse.Record) {
	for i := range recs {
		c := recs[i].Checkpoint
		if c == nil || !u.line.Sees(c.Branch, e.Seq) {
			continue
		}
		if isSaved(c) && u.line.isWithin(e.Seq) {
			u.edited = e.Seq
		}
		switch c.Kind {
		case posthouse.KindUpdate, posthouse.KindFork, posthouse.KindMigrate:
			u.edited = e.Seq
		case posthouse.KindRestartStep:
			u.edited = e.Seq
			for _, x := range u.tasks {
				x.RestartStep()
			}
		}
	}
}

// withdraw removes the unanswered gates, except unanswered questions to people:
// their successors refer to them.
func (u *Unfinished) withdraw() {
	gone := func(q *posthouse.Gate) bool { return q.Unanswered() && !(q.AsksPeople() && q.Withdrawn()) }
	maps.DeleteFunc(u.gates, func(_ posthouse.ID, q *posthouse.Gate) bool { return gone(q) })
	for _, x := range u.tasks {
		x.Gates = WithoutGates(x.Gates, gone)
	}
}
