package threadlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
)

// An Approved is a decided gate of a thread's current generation that licenses effects.
type Approved struct {
	Gate *posthouse.Gate
	Uses []grants.Use
	Body posthouse.BodyRef // of the gate
	Used uint64            // the newest result under it, on its branch; 0: no result

	replaced bool // by a gate that licenses its edit
}

// Approval says whether effects may still run under the decision: see [grants.ApprovalOf].
// That of an edit ends where another gate is opened in its place.
func (a *Approved) Approval(t *posthouse.ThreadInfo, now time.Time) grants.Approval {
	how := grants.ApprovalOf(a.Gate, a.Uses, t, now)
	if a.replaced && how.Kept() {
		return grants.ApprovalEnded
	}
	return how
}

// Usable reports whether an effect without a result may run under the decision.
func (a *Approved) Usable(t *posthouse.ThreadInfo, now time.Time) bool {
	return a.Approval(t, now) == grants.ApprovalUsable
}

// Approvals returns the gates that license effects, of a thread's current generation, in the
// order in which they were opened. Gates with content that cannot be read are in unread: their
// bodies are sealed with a key that is not there. Gates that were removed are not listed.
func (l *Logs) Approvals(ctx context.Context, t *posthouse.ThreadInfo) (all []*Approved, unread []posthouse.BodyRef, err error) {
	all, unread, err = l.approvals(ctx, t)
	return slices.DeleteFunc(all, func(a *Approved) bool { return a.Gate.Origin != "" }), unread, err
}

// Decided returns what Approvals does, and the copies of gates of other threads: they license
// nothing, and show what was decided there. Those that cannot be read are left out.
func (l *Logs) Decided(ctx context.Context, t *posthouse.ThreadInfo) ([]*Approved, error) {
	all, _, err := l.approvals(ctx, t)
	return all, err
}

// approvals is Approvals with the copies of gates of other threads. They license nothing here,
// but gate.Act asks again about their content.
func (l *Logs) approvals(ctx context.Context, t *posthouse.ThreadInfo) (all []*Approved, unread []posthouse.BodyRef, err error) {
	places := map[posthouse.ID]posthouse.BodyRef{}
	decided := map[posthouse.ID]uint64{} // entries of approvals
	uses := map[posthouse.ID]*grants.Gatherer{}
	var order []posthouse.ID
	var edits Edits
	for e, err := range l.InOrder(ctx, t.Thread, posthouse.Range{From: t.First, Headers: true}) {
		if err != nil {
			return nil, nil, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, nil, err
		}
		for i := range recs {
			edits.Add(&recs[i])
			switch r := &recs[i]; {
			case r.Gate != nil && posthouse.AsksPeople(r.Gate.Kind):
				places[r.Gate.ID] = posthouse.BodyRef{Seq: e.Seq, Record: i}
			case r.Decision != nil && r.Decision.Verdict.IsYes():
				if _, asked := places[r.Decision.Gate]; asked {
					decided[r.Decision.Gate], order = e.Seq, append(order, r.Decision.Gate)
				}
			case r.Step != nil && r.Step.Grant != "":
				g := uses[r.Step.Grant]
				if g == nil {
					g = grants.Gather()
					uses[r.Step.Grant] = g
				}
				g.Add(e, i, r)
			}
		}
	}
	r := l.Reader(ctx, t.Thread)
	for _, id := range order {
		g, err := r.GateAt(id, decided[id])
		switch {
		case errors.Is(err, posthouse.ErrNotFound): // removed
			continue
		case errors.Is(err, posthouse.ErrSealed):
			unread = append(unread, places[id])
			continue
		case err != nil:
			return nil, nil, err
		}
		original := *g
		original.Origin = ""
		if !original.Licenses() {
			continue
		}
		a := &Approved{Gate: g, Body: places[id], replaced: edits.By(id) != ""}
		if u := uses[cmp.Or(g.Origin, id)]; u != nil { // what was done before the copy names the original
			a.Uses = u.Uses(t.Lease.Held)
			for _, use := range a.Uses {
				if use.Status == grants.Executed && use.Branch == g.Branch {
					a.Used = max(a.Used, use.Seq)
				}
			}
		}
		all = append(all, a)
	}
	return all, unread, nil
}

// KeepApprovals makes the tree, which is of the thread's current generation or of all, keep
// the gates that [gate.Act] may still need: those with an approval that is
// [grants.Approval.Kept], and those that a kept checkpoint from before their use may act
// under again, on a fork that asks anew. elsewhere reports whether a fork in another thread
// was made from a checkpoint; nil: there is no checkpoint.
func (l *Logs) KeepApprovals(ctx context.Context, tree *Tree, info *posthouse.ThreadInfo, now time.Time, elsewhere func(posthouse.ID) bool) error {
	if info.Gone() {
		return nil
	}
	all, unread, err := l.approvals(ctx, info)
	if err != nil {
		return err
	}
	tree.approved, tree.elsewhere = nil, elsewhere
	tree.keep = map[posthouse.BodyRef]bool{}
	for _, b := range unread {
		tree.keep[b] = true
	}
	for _, a := range all {
		switch how := a.Approval(info, now); {
		case how.Kept():
			tree.keep[a.Body] = true
		case how == grants.ApprovalUsed, how == grants.ApprovalEnded, a.Gate.Origin != "":
			tree.approved = append(tree.approved, a)
		}
	}
	return nil
}

// approvals marks the gates that [gate.Act] may still need.
func (t *Tree) approvals(need map[posthouse.BodyRef]bool) {
	for b := range t.keep {
		need[b] = true
	}
	for _, a := range t.approved {
		if t.mayActAgain(a) {
			need[a.Body] = true
		}
	}
}

// mayActAgain reports whether a kept checkpoint descends from that of a gate and is from
// before the gate's use, or of another branch.
func (t *Tree) mayActAgain(a *Approved) bool {
	below := map[uint64]bool{}
	for _, seq := range t.Seqs {
		if seq < a.Gate.Seq {
			continue
		}
		n := t.Nodes[seq]
		first := len(below) == 0 && n.Header.Branch == a.Gate.Branch // the gate's, or the next one after it
		if !first && !below[n.Header.ParentSeq] {
			continue
		}
		below[seq] = true
		if n.Header.Branch == a.Gate.Branch && a.Used != 0 && seq > a.Used {
			continue
		}
		if !n.Removed || t.elsewhere != nil && t.elsewhere(n.Header.ID) {
			return true
		}
	}
	return false
}
