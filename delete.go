package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A DeleteMode says what becomes of a checkpoint's children.
type DeleteMode string

// The modes.
const (
	DeleteRefuse  DeleteMode = ""        // a checkpoint with children is not deleted: ErrConflict
	DeleteOrphan  DeleteMode = "orphan"  // they stay, their parent's id leads nowhere
	DeleteSubtree DeleteMode = "subtree" // they are deleted too
)

// DeleteOptions refine a deletion. Nil is the zero value.
type DeleteOptions struct {
	Mode   DeleteMode
	By     string // at most 200 bytes
	Reason string // at most 4,000 bytes
}

func (o *DeleteOptions) check() (*DeleteOptions, error) {
	if o == nil {
		return &DeleteOptions{}, nil
	}
	if o.Mode != DeleteRefuse && o.Mode != DeleteOrphan && o.Mode != DeleteSubtree {
		return nil, invalid("mode", "%q is not one of orphan, subtree or empty", o.Mode)
	}
	if len(o.Reason) > maxText || !validText(o.Reason) {
		return nil, invalid("reason", "must be at most %d bytes of text without control characters", maxText)
	}
	return o, CheckPerson("by", o.By)
}

// A Deleted says what a deletion took.
type Deleted struct {
	Checkpoints int   `json:"checkpoints"`
	Gates       int   `json:"gates"`  // open gates that were cancelled with them
	Bodies      int   `json:"bodies"` // of records, gone for good
	Kept        int   `json:"kept"`   // bodies that stay since other checkpoints are rebuilt from them
	Bytes       int64 `json:"bytes"`
}

// Delete removes a checkpoint. A record in the log attests it; the bodies that
// no kept checkpoint needs are gone for good. Deleting a branch's head moves
// the head to its parent, which then waits to be resumed, and cancels its
// gates; a branch that loses its first checkpoint ends. [ErrNotFound];
// [ErrConflict] for one with children unless o.Mode says what becomes of them, and
// for one of a released version, which goes as a whole ([Ledger.DropRelease]); as for all that removes, [ErrForbidden] while the thread is under legal hold and
// [ErrBusy] while it is run.
func (l *Core) Delete(ctx context.Context, id ID, o *DeleteOptions) (*Deleted, error) {
	ref, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	del, err := l.deleteIn(ctx, ref, o, func(t *threadTree) ([]uint64, error) {
		seq, ok := t.byID[id]
		if !ok {
			return nil, notFound("checkpoint", id)
		}
		if o == nil || o.Mode == DeleteRefuse {
			if n := len(t.children[seq]); n > 0 {
				children := itoa(n) + " children"
				if n == 1 {
					children = "a child"
				}
				return nil, &Error{
					Code: CodeConflict, Message: "checkpoint " + string(id) + " has " + children,
					Hint: "delete the subtree, or orphan them",
				}
			}
		}
		if o != nil && o.Mode == DeleteSubtree {
			return t.subtree(seq), nil
		}
		return []uint64{seq}, nil
	})
	if err == nil {
		l.observe(Operation{Kind: OpDeleted, At: l.Now(), Thread: ref.Thread, ID: id, Count: del.Checkpoints})
	}
	return del, err
}

// deleteIn removes the checkpoints of a thread's current generation that choose
// picks. [ErrConflict] for an entry of a version before it; 0 is none.
func (l *Core) deleteIn(ctx context.Context, at Ref, o *DeleteOptions, choose func(*threadTree) ([]uint64, error)) (*Deleted, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	thread := at.Thread
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	del := &Deleted{}
	var gone []BodyRef
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.removable(); err != nil {
			return err
		}
		if at.Seq != 0 && at.Seq < t.info.First {
			return l.closedVersion(ctx, at)
		}
		tree, err := l.tree(ctx, thread, t.info.First)
		if err != nil {
			return err
		}
		targets, err := choose(tree)
		if err != nil {
			return err
		}
		*del, gone, err = a.remove(tree, targets, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.heads = map[string]*head{}
	l.retained.deleted(del.Checkpoints)
	removed, err := l.store.Remove(ctx, Removal{Thread: thread, Bodies: gone})
	del.Bodies, del.Bytes = removed.Bodies, removed.Bytes
	return del, err
}

// closedVersion is why a checkpoint of a released version is not deleted.
func (l *Core) closedVersion(ctx context.Context, at Ref) error {
	version := "VERSION"
	for r, err := range l.Releases(ctx, at.Thread) {
		if err != nil {
			return err
		}
		if at.Seq >= r.First {
			version = itoa(int(r.Version))
			break
		}
	}
	return &Error{
		Code: CodeConflict, Message: "the checkpoint belongs to version " + version + " of thread " + at.Thread + ", which is released: it is closed",
		Hint: "drop the version as a whole: posthouse thread drop " + at.Thread + " " + version + ", or Ledger.DropRelease",
	}
}

// remove adds the removal record for the targets.
func (a *appending) remove(tree *threadTree, targets []uint64, o *DeleteOptions) (Deleted, []BodyRef, error) {
	info := &RemovalInfo{Reason: o.Reason, By: o.By}
	var list RemovedList
	var bodies []BodyRef
	for _, seq := range targets {
		n := tree.nodes[seq]
		tree.remove(seq)
		info.count(seq, a.t.info)
		list.Checkpoints = append(list.Checkpoints, RemovedCheckpoint{n.header.ID, seq})
		a.drop = append(a.drop, n.header.ID)
		for _, revision := range tree.revisions[n.header.ID] {
			bodies = append(bodies, tree.nodes[revision].bodies(revision)...)
		}
	}
	for _, w := range a.t.info.Waiting {
		if slices.Contains(targets, w.Seq) {
			info.Gates = append(info.Gates, w.ID)
			a.drop = append(a.drop, w.ID)
		}
	}
	for _, b := range a.t.info.Branches {
		if slices.Contains(targets, b.Seq) {
			info.Heads = append(info.Heads, tree.newHead(b, a.t.info))
		} else if b.Status == StatusWaiting && a.t.info.unasked(b.Branch, info.Gates) {
			b.Status = StatusInterrupted
			info.Heads = append(info.Heads, b)
		}
	}
	need, kept := tree.needed(), 0
	for _, b := range bodies {
		if need[b] {
			kept++
		} else {
			list.Bodies = append(list.Bodies, b)
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return Deleted{}, nil, err
	}
	a.add(Record{Kind: RecordRemoval, Removal: info}, body)
	a.sign = true
	return Deleted{Checkpoints: len(targets), Gates: len(info.Gates), Kept: kept}, list.Bodies, nil
}

// count adds a removed checkpoint to those of its generation.
func (m *RemovalInfo) count(seq uint64, t *ThreadInfo) {
	if seq < t.First {
		m.Archived++
	} else {
		m.Count++
	}
}

// unasked reports whether a branch loses its last open question with the gates.
func (t *ThreadInfo) unasked(branch string, gates []ID) bool {
	lost := false
	for _, w := range t.Waiting {
		if w.Branch == branch {
			if !slices.Contains(gates, w.ID) {
				return false
			}
			lost = true
		}
	}
	return lost
}

// newHead walks up from a removed head to what is left of its branch.
func (t *threadTree) newHead(b BranchHead, info *ThreadInfo) BranchHead {
	for seq := b.Seq; ; {
		n := t.nodes[seq]
		if n == nil || n.header.ParentSeq == 0 {
			return BranchHead{Branch: b.Branch}
		}
		seq = n.header.ParentSeq
		p := t.nodes[seq]
		if p == nil || p.header.Branch != b.Branch {
			return BranchHead{Branch: b.Branch}
		}
		if p.removed {
			continue
		}
		s := p.header.Status
		open := slices.ContainsFunc(info.Waiting, func(w WaitingGate) bool { return w.Seq == seq })
		if s.Runnable() || s == StatusWaiting && !open {
			s = StatusInterrupted
		}
		return BranchHead{b.Branch, p.header.ID, seq, s}
	}
}

// DeleteThread removes a thread, its releases included. One record stays of it:
// signed, it attests how far the log went. A new root under the same name starts
// a new generation behind it. Threads whose end it waited for ([GateThread]) are
// cancelled; an error with a result names those of which this failed, or that it
// cannot be told for damage or for want of the key, and the thread is gone.
// [ErrNotFound], also for one that was deleted before, and as for
// [Ledger.Delete]; o.Mode is not heeded.
func (l *Core) DeleteThread(ctx context.Context, thread string, o *DeleteOptions) (*Deleted, error) {
	del, err := l.deleteThread(ctx, thread, o, nil)
	if del != nil {
		l.observe(Operation{Kind: OpDeleted, At: l.Now(), Thread: thread, Count: del.Checkpoints})
	}
	return del, err
}

// deleteThread also cancels what the thread waited for. It fails with errNothing
// if that does not pass all.
func (l *Core) deleteThread(ctx context.Context, thread string, o *DeleteOptions, all func(*threadTree) bool) (*Deleted, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	del, called, err := l.removeThread(ctx, thread, o, all)
	if del == nil || len(called) == 0 {
		return del, err
	}
	c := CancelOptions{By: o.By, Reason: "thread " + thread + ", which waited for it, was deleted"}
	if e := l.cancelThreads(context.WithoutCancel(ctx), called, c, map[string]bool{thread: true}); e != nil {
		err = errors.Join(err, e)
	}
	return del, err
}

// removeThread is deleteThread but for what the thread waited for, which it
// returns.
func (l *Core) removeThread(ctx context.Context, thread string, o *DeleteOptions, all func(*threadTree) bool) (_ *Deleted, called []string, err error) {
	if s, err := l.summary(ctx, thread); err != nil {
		return nil, nil, err
	} else if s.gone() && s.Releases == 0 {
		return nil, nil, notFound("thread", thread)
	}
	t, err := l.lock(thread)
	if err != nil {
		return nil, nil, err
	}
	defer l.unlock(t)
	var del Deleted
	var sealed bool
	var unread error
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.removable(); err != nil {
			return err
		}
		if t.info.gone() && t.info.Releases == 0 {
			return notFound("thread", thread)
		}
		if all != nil {
			if tree, err := l.tree(ctx, thread, 0); err != nil {
				return err
			} else if !all(tree) {
				return errNothing
			}
		}
		sealed = sealed || t.info.Sealed || t.info.Releases > 0 || l.opt.Cipher != nil
		info := &RemovalInfo{Reason: o.Reason, By: o.By, Whole: true, Count: t.info.Checkpoints, Archived: t.info.Archived}
		if err := a.dropAll(); err != nil {
			return err
		}
		for _, b := range t.info.Branches {
			info.Heads = append(info.Heads, BranchHead{Branch: b.Branch})
		}
		var calls []ID
		for _, w := range t.info.Waiting {
			if info.Gates = append(info.Gates, w.ID); w.Kind == GateThread {
				calls = append(calls, w.ID)
			}
		}
		del = Deleted{Checkpoints: info.Count + info.Archived, Gates: len(info.Gates)}
		called, unread = l.waitedFor(ctx, calls)
		if unread != nil && !errors.Is(unread, ErrCorrupt) && !errors.Is(unread, ErrSealed) {
			return unread // it may be known when asked again, and is not once the thread is gone
		}
		a.add(Record{Kind: RecordRemoval, Removal: info}, nil)
		a.sign = true
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	t.heads = map[string]*head{}
	l.retained.deleted(del.Checkpoints)
	removed, err := l.store.Remove(ctx, Removal{Thread: thread, Below: t.info.Tail.Seq})
	del.Bodies, del.Bytes = removed.Bodies, removed.Bytes
	if err == nil && sealed {
		err = l.dropKeys(ctx, thread, t.info.Generation-1)
	}
	if unread != nil {
		err = errors.Join(err, fmt.Errorf("tell what thread %s, which was deleted, waited for: %w", thread, unread))
	}
	return &del, called, err
}

// dropAll takes every id of the thread out of the index.
func (a *appending) dropAll() error {
	kept := map[ID]bool{}
	for e, err := range a.l.store.Read(a.ctx, a.t.name, Range{Headers: true}) {
		if err != nil {
			return err
		}
		recs, err := e.Records()
		if err != nil {
			return err
		}
		for _, r := range recs {
			switch {
			case r.Checkpoint != nil && !kept[r.Checkpoint.ID]:
				kept[r.Checkpoint.ID] = true
				a.drop = append(a.drop, r.Checkpoint.ID)
			case r.Gate != nil:
				a.drop = append(a.drop, r.Gate.ID)
			case r.Signal != nil:
				a.drop = append(a.drop, r.Signal.ID)
			}
		}
	}
	return nil
}

// DeleteCoordination removes the checkpoints that carry a coordination's label:
// whole threads where all of theirs do. Counts are sums; none is no error. When
// it fails in the middle, the sums say what is gone. What [Ledger.DeleteThread]
// returns with a result does not stop it, and is part of the error. So is an
// [ErrConflict] for each thread that stays and has checkpoints of the label in
// released versions: those are closed, and go as a whole ([Ledger.DropRelease]).
func (l *Core) DeleteCoordination(ctx context.Context, name string, o *DeleteOptions) (*Deleted, error) {
	if err := ValidateName("coordination", name); err != nil {
		return nil, err
	}
	var threads []string
	for h, err := range l.store.List(ctx, Query{Coordination: name}) {
		if err != nil {
			return nil, err
		}
		threads = append(threads, h.Thread)
	}
	slices.Sort(threads)
	var sum Deleted
	var errs []error
	for _, thread := range slices.Compact(threads) {
		del, err := l.deleteLabelled(ctx, thread, name, o)
		if del == nil && errors.Is(err, ErrNotFound) {
			continue // gone since it was listed
		}
		if err != nil {
			errs = append(errs, err)
		}
		if del == nil {
			break
		}
		sum.Checkpoints += del.Checkpoints
		sum.Gates += del.Gates
		sum.Bodies += del.Bodies
		sum.Kept += del.Kept
		sum.Bytes += del.Bytes
	}
	if sum.Checkpoints > 0 {
		l.observe(Operation{Kind: OpDeleted, At: l.Now(), Coordination: name, Count: sum.Checkpoints})
	}
	return &sum, errors.Join(errs...)
}

// deleteLabelled removes a thread's checkpoints of a coordination, and the
// thread if there are no others.
func (l *Core) deleteLabelled(ctx context.Context, thread, name string, o *DeleteOptions) (*Deleted, error) {
	labelled := func(t *threadTree) (seqs []uint64) {
		for _, seq := range t.byID {
			if t.nodes[seq].header.Coordination == name {
				seqs = append(seqs, seq)
			}
		}
		slices.Sort(seqs)
		return seqs
	}
	var found []uint64
	del, err := l.deleteThread(ctx, thread, o, func(t *threadTree) bool {
		found = labelled(t)
		return len(found) == len(t.byID)
	})
	if !errors.Is(err, errNothing) {
		return del, err
	}
	del, err = l.deleteIn(ctx, Ref{Thread: thread}, o, func(t *threadTree) ([]uint64, error) {
		seqs := labelled(t)
		if len(seqs) == 0 {
			return nil, notFound("checkpoint of", name)
		}
		return seqs, nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) || len(found) == 0 {
		return del, err
	}
	info, e := l.summary(ctx, thread)
	if e != nil || found[0] >= info.First {
		return del, errors.Join(err, e)
	}
	if del == nil {
		del = &Deleted{}
	}
	return del, l.closedVersion(ctx, Ref{thread, found[0]})
}

func (r *logReader) removedList(seq uint64) (*RemovedList, error) {
	e, err := r.entry(seq, true)
	if err != nil {
		return nil, err
	}
	list := &RemovedList{}
	for i := range e.recs {
		if e.recs[i].Removal != nil && len(e.Bodies[i]) > 0 {
			if err := json.Unmarshal(e.Bodies[i], list); err != nil {
				return nil, corrupt("the removal at entry %d of thread %q does not decode: %v", seq, e.Thread, err)
			}
		}
	}
	return list, nil
}
