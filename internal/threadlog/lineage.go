package threadlog

import (
	"slices"

	"github.com/posthouse/posthouse"
)

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
// waits many times in one execution. An entry that cannot be read may not be needed.
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
	for e, err := range r.Logs.InOrder(r.Ctx, r.Thread, posthouse.Range{To: h.Seq - 1, Reverse: true, Headers: true}) {
		if err != nil {
			return 0, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return 0, err
		}
		for i := range recs {
			if c := recs[i].Checkpoint; c != nil && c.ID == h.ID {
				from = e.Seq
				if c.Revision == 0 {
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
// after the branch's previous checkpoint, or at the log's beginning.
func (r *Reader) executionStart(root *posthouse.Header) (from uint64, err error) {
	from = root.Seq
	for e, err := range r.Logs.InOrder(r.Ctx, r.Thread, posthouse.Range{To: root.Seq - 1, Reverse: true, Headers: true}) {
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

// AsksAgain reports whether an entry holds an update, or a state saved by hand, in the middle of
// a step. After it an execution does not know gates that are [posthouse.Gate.Unanswered].
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
