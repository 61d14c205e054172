package retain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/removal"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// maxNames bounds the names in a [Report].
const maxNames = 1000

// labelParent names, on the checkpoints of a thread that a graph called, the thread that called
// it. Package graph writes it.
const labelParent = "parent"

// finished removes a thread as a whole if the policy says that it goes, and reports whether it
// did, or would.
func (p *pass) finished(ctx context.Context, info *posthouse.ThreadInfo) (gone bool, err error) {
	if p.Finished == 0 || !p.ended(info, p.l.Now()) {
		return false, nil
	}
	if err := p.lineage.findCopied(ctx, p.l.Store); err != nil {
		return false, err
	}
	if p.opt.DryRun {
		return p.wouldFinish(ctx, info)
	}
	del, err := removal.Thread(ctx, p.l, info.Thread, removal.Options{By: p.opt.By, Reason: p.Policy.String(), If: func(tx *core.Tx, tree *threadlog.Tree) (bool, error) {
		return p.mayFinish(tx.Ctx, tx.Thread.Info, tree, tx.At)
	}})
	switch {
	case errors.Is(err, core.ErrNothing), errors.Is(err, posthouse.ErrNotFound):
		return false, nil // it moved, or went
	case errors.Is(err, posthouse.ErrForbidden), errors.Is(err, posthouse.ErrBusy):
		return false, nil // what follows counts it
	case del == nil:
		return false, err
	}
	p.noteFinished(info.Thread, del)
	p.l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpDeleted, At: p.l.Now(), Thread: info.Thread, Count: del.Checkpoints})
	return true, err
}

func (p *pass) noteFinished(thread string, del *removal.Removed) {
	p.done.Finished++
	p.done.Changed++
	p.done.Checkpoints += del.Checkpoints
	p.done.Bodies += del.Bodies
	p.done.Bytes += del.Bytes
	if len(p.done.FinishedThreads) < maxNames {
		p.done.FinishedThreads = append(p.done.FinishedThreads, thread)
	}
}

// wouldFinish is finished of a dry run.
func (p *pass) wouldFinish(ctx context.Context, info *posthouse.ThreadInfo) (bool, error) {
	now, err := p.l.Logs.Summary(ctx, info.Thread)
	if err != nil {
		return false, err
	}
	if now.Gone() || now.Hold.Seq != 0 {
		return false, nil
	}
	tree, err := p.l.Logs.Tree(ctx, info.Thread, 0)
	if err != nil {
		return false, err
	}
	if goes, err := p.mayFinish(ctx, now, tree, p.l.Now()); !goes || err != nil {
		return false, err
	}
	var bodies []posthouse.BodyRef
	for e, err := range p.l.Store.Read(ctx, info.Thread, posthouse.Range{Headers: true}) {
		if err != nil {
			return false, err
		}
		recs, err := e.Records()
		if err != nil {
			return false, err
		}
		bodies = append(bodies, bodiesOf(e.Seq, recs)...)
	}
	size, err := sizeOf(ctx, p.l.Core, info.Thread, bodies)
	p.noteFinished(info.Thread, &removal.Removed{Checkpoints: now.Checkpoints, Bodies: size.Bodies, Bytes: size.Bytes})
	return true, err
}

// ended reports by a thread's summary whether all its branches have ended, and nothing of it
// moved, for longer than the policy lets it stay.
func (p *pass) ended(t *posthouse.ThreadInfo, now time.Time) bool {
	switch {
	case t.Gone(), posthouse.IsRuntimeThread(t.Thread), t.Hold.Seq != 0, t.Archived > 0:
		return false
	case len(t.Waiting) > 0, len(t.Cancelling) > 0, t.Lease.Held:
		return false
	case now.Sub(time.UnixMilli(int64(t.Updated))) <= p.Finished+time.Minute: // Updated is rounded down to the minute
		return false
	}
	return hasEnded(t)
}

// hasEnded reports whether no branch of a thread has anything left to do by itself.
func hasEnded(t *posthouse.ThreadInfo) bool {
	for _, b := range t.Branches {
		switch b.Status {
		case posthouse.StatusDone, posthouse.StatusCancelled, posthouse.StatusFailed, posthouse.StatusInterrupted, "":
		default:
			return false
		}
	}
	return len(t.Branches) > 0
}

// mayFinish reports whether a thread goes as a whole, by all that is on record of it.
func (p *pass) mayFinish(ctx context.Context, t *posthouse.ThreadInfo, tree *threadlog.Tree, now time.Time) (bool, error) {
	if !p.ended(t, now) {
		return false, nil
	}
	parents := map[string]bool{}
	for _, seq := range tree.Seqs {
		n := tree.Nodes[seq]
		if !n.Removed && p.keeps(&n.Header) {
			return false, nil
		}
		if !p.DropSources && p.lineage.isSource(t.Thread, n.Header.ID) {
			return false, nil
		}
		if parent := n.Header.Labels[labelParent]; parent != "" && parent != t.Thread {
			parents[parent] = true
		}
	}
	for parent := range parents {
		if info, err := p.l.Logs.Summary(ctx, parent); err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return false, err
		} else if err == nil && !info.Gone() {
			return false, nil // it looks for the outcome of its call here
		}
	}
	ended := func(b posthouse.BranchHead) bool {
		return b.Status != posthouse.StatusFailed && b.Status != posthouse.StatusInterrupted
	}
	if !slices.ContainsFunc(t.Branches, func(b posthouse.BranchHead) bool { return !ended(b) }) {
		return true, nil
	}
	all, unread, err := p.l.Logs.Approvals(ctx, t)
	if err != nil || len(unread) > 0 {
		return false, err
	}
	return !slices.ContainsFunc(all, func(a *threadlog.Approved) bool { return a.Approval(t, now).Kept() }), nil
}
