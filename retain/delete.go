package retain

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/removal"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// A DeleteMode says what happens to a deleted checkpoint's children.
type DeleteMode string

// The modes.
const (
	DeleteRefuse  DeleteMode = ""        // a checkpoint with children is not deleted: ErrConflict
	DeleteOrphan  DeleteMode = "orphan"  // they stay, and their parent's id is not found
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
		return nil, posthouse.Invalid("mode", "%q is not one of orphan, subtree or empty", o.Mode)
	}
	if len(o.Reason) > posthouse.MaxText || !text.Valid(o.Reason) {
		return nil, posthouse.Invalid("reason", "must be at most %d bytes of text without control characters", posthouse.MaxText)
	}
	return o, posthouse.CheckPerson("by", o.By)
}

// A Deleted counts what a deletion removed.
type Deleted struct {
	Checkpoints int   `json:"checkpoints"`
	Gates       int   `json:"gates"`  // open gates that were cancelled with them
	Bodies      int   `json:"bodies"` // bodies of records that were removed
	Kept        int   `json:"kept"`   // bodies that stay, since other checkpoints are rebuilt from them
	Bytes       int64 `json:"bytes"`
}

// Delete removes a checkpoint. A record in the log attests it. Bodies that no kept
// checkpoint needs are removed for good. Deleting a branch's head cancels its gates and
// moves the head to its parent, which then waits to be resumed: what its node did, effects under a
// grant too, is asked for and done again. A branch that loses its first checkpoint ends.
//
// It fails with [posthouse.ErrNotFound] for an unknown checkpoint, and with
// [posthouse.ErrConflict] for a checkpoint that has children, unless o.Mode allows it, or
// that belongs to a released version, which can only be dropped ([DropRelease]). Like all
// removals it fails with [posthouse.ErrForbidden] while the thread is under legal hold and
// with [posthouse.ErrBusy] while the thread runs.
func Delete(ctx context.Context, led *ledger.Ledger, id posthouse.ID, o *DeleteOptions) (*Deleted, error) {
	l := led.Core()
	ref, err := l.Logs.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	del, err := deleteIn(ctx, l.Core, ref, o, func(t *threadlog.Tree) ([]uint64, error) {
		seq, ok := t.ByID[id]
		if !ok {
			return nil, posthouse.NotFound("checkpoint", id)
		}
		if o == nil || o.Mode == DeleteRefuse {
			if n := len(t.Children[seq]); n > 0 {
				children := strconv.Itoa(n) + " children"
				if n == 1 {
					children = "a child"
				}
				return nil, &posthouse.Error{
					Code: posthouse.CodeConflict, Message: "checkpoint " + string(id) + " has " + children,
					Hint: "delete the subtree, or orphan them",
				}
			}
		}
		if o != nil && o.Mode == DeleteSubtree {
			return t.Subtree(seq), nil
		}
		return []uint64{seq}, nil
	})
	if err == nil {
		l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpDeleted, At: l.Now(), Thread: ref.Thread, ID: id, Count: del.Checkpoints})
	}
	return del, err
}

// deleteIn removes the checkpoints of a thread's current generation that choose returns.
// It fails with [posthouse.ErrConflict] if at.Seq is set and belongs to an earlier version.
func deleteIn(ctx context.Context, c *core.Core, at posthouse.Ref, o *DeleteOptions, choose func(*threadlog.Tree) ([]uint64, error)) (*Deleted, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	thread := at.Thread
	t, err := c.Lock(thread)
	if err != nil {
		return nil, err
	}
	defer c.Unlock(t)
	del := &Deleted{}
	var gone []posthouse.BodyRef
	err = c.Append(ctx, t, func(tx *core.Tx) error {
		if err := tx.Removable(); err != nil {
			return err
		}
		if at.Seq != 0 && at.Seq < t.Info.First {
			return closedVersion(ctx, c, at)
		}
		tree, err := c.Logs.Tree(ctx, thread, t.Info.First)
		if err != nil {
			return err
		}
		if err := c.Logs.KeepApprovals(ctx, tree, t.Info, tx.At, nil); err != nil {
			return err
		}
		targets, err := choose(tree)
		if err != nil {
			return err
		}
		for _, b := range t.Info.Branches {
			if slices.Contains(targets, b.Seq) {
				if err := commit.CheckSettled(tx, b.Branch); err != nil {
					return err
				}
			}
		}
		*del, gone, err = remove(tx, tree, targets, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.Heads = map[string]*core.Head{}
	c.Cap.Deleted(del.Checkpoints)
	removed, err := c.Store.Remove(ctx, posthouse.Removal{Thread: thread, Bodies: gone})
	del.Bodies, del.Bytes = removed.Bodies, removed.Bytes
	return del, err
}

func closedVersion(ctx context.Context, c *core.Core, at posthouse.Ref) error {
	version := "VERSION"
	for r, err := range c.Logs.Releases(ctx, at.Thread) {
		if err != nil {
			return err
		}
		if at.Seq >= r.First {
			version = strconv.Itoa(int(r.Version))
			break
		}
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Message: "the checkpoint belongs to version " + version + " of thread " + at.Thread + ", which is released: it is closed",
		Hint: "drop the version as a whole: posthouse thread drop " + at.Thread + " " + version + ", or retain.DropRelease",
	}
}

// remove adds the removal record for the targets.
func remove(tx *core.Tx, tree *threadlog.Tree, targets []uint64, o *DeleteOptions) (Deleted, []posthouse.BodyRef, error) {
	info := &posthouse.RemovalInfo{Reason: o.Reason, By: o.By}
	var list posthouse.RemovedList
	var bodies []posthouse.BodyRef
	for _, seq := range targets {
		n := tree.Nodes[seq]
		tree.Remove(seq)
		info.CountRemoved(seq, tx.Thread.Info)
		list.Checkpoints = append(list.Checkpoints, posthouse.RemovedCheckpoint{ID: n.Header.ID, Seq: seq})
		tx.Drop = append(tx.Drop, n.Header.ID)
		for _, revision := range tree.Revisions[n.Header.ID] {
			bodies = append(bodies, tree.Nodes[revision].Bodies(revision)...)
		}
	}
	for _, w := range tx.Thread.Info.Waiting {
		if slices.Contains(targets, w.Seq) {
			info.Gates = append(info.Gates, w.ID)
			tx.Drop = append(tx.Drop, w.ID)
		}
	}
	for _, b := range tx.Thread.Info.Branches {
		if slices.Contains(targets, b.Seq) {
			info.Heads = append(info.Heads, newHead(tree, b, tx.Thread.Info))
		} else if b.Status == posthouse.StatusWaiting && losesLastGate(tx.Thread.Info, b.Branch, info.Gates) {
			b.Status = posthouse.StatusInterrupted
			info.Heads = append(info.Heads, b)
		}
	}
	need, kept := tree.Needed(), 0
	for _, b := range bodies {
		if need[b] {
			kept++
		} else {
			list.Bodies = append(list.Bodies, b)
		}
	}
	del := Deleted{Checkpoints: len(targets), Gates: len(info.Gates), Kept: kept}
	return del, list.Bodies, tx.AddRemoval(info, list)
}

// losesLastGate reports whether the gates are the last open ones of a branch.
func losesLastGate(t *posthouse.ThreadInfo, branch string, gates []posthouse.ID) bool {
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

// newHead returns the nearest kept ancestor of a removed head on its branch, as the new
// head. If there is no such ancestor the branch ends; the entry of its head says that a
// branch ended here.
func newHead(t *threadlog.Tree, b posthouse.BranchHead, info *posthouse.ThreadInfo) posthouse.BranchHead {
	for seq := b.Seq; ; {
		n := t.Nodes[seq]
		if n == nil || n.Header.ParentSeq == 0 {
			return posthouse.BranchHead{Branch: b.Branch, Seq: b.Seq}
		}
		seq = n.Header.ParentSeq
		p := t.Nodes[seq]
		if p == nil || p.Header.Branch != b.Branch {
			return posthouse.BranchHead{Branch: b.Branch, Seq: b.Seq}
		}
		if p.Removed {
			continue
		}
		s := p.Header.Status
		open := slices.ContainsFunc(info.Waiting, func(w posthouse.WaitingGate) bool { return w.Seq == seq })
		if s.Runnable() || s == posthouse.StatusWaiting && !open {
			s = posthouse.StatusInterrupted
		}
		return posthouse.BranchHead{Branch: b.Branch, Head: p.Header.ID, Seq: seq, Status: s}
	}
}

// DeleteThread removes a thread, its releases and its slots. One signed record stays, which
// attests how far the log went. A new root under the same name begins a new generation
// after it. o.Mode is ignored. Slots stay in a store that is no [posthouse.SlotLister], and
// where damage hides them, which is an error together with a result.
//
// Threads that the thread waited for ([posthouse.GateThread]) are cancelled. An error
// together with a result says which could not be cancelled, or that damage or a missing
// key hides which they are; the thread is deleted all the same. Other errors are those of
// [Delete]; a thread that was deleted before is [posthouse.ErrNotFound].
func DeleteThread(ctx context.Context, led *ledger.Ledger, thread string, o *DeleteOptions) (*Deleted, error) {
	l := led.Core()
	del, err := deleteWhole(ctx, l, thread, o, nil)
	if del != nil {
		l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpDeleted, At: l.Now(), Thread: thread, Count: del.Checkpoints})
	}
	return del, err
}

// deleteWhole is [DeleteThread] without the event for observers. It fails with
// [core.ErrNothing] and removes nothing if all is not nil and reports false.
func deleteWhole(ctx context.Context, c *commit.Committer, thread string, o *DeleteOptions, all func(*threadlog.Tree) bool) (*Deleted, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	r := removal.Options{By: o.By, Reason: o.Reason}
	if all != nil {
		r.If = func(_ *core.Tx, t *threadlog.Tree) (bool, error) { return all(t), nil }
	}
	return deletedBy(removal.Thread(ctx, c, thread, r))
}

// deletedBy counts what a removal removed.
func deletedBy(r *removal.Removed, err error) (*Deleted, error) {
	if r == nil {
		return nil, err
	}
	return &Deleted{Checkpoints: r.Checkpoints, Gates: r.Gates, Bodies: r.Bodies, Bytes: r.Bytes}, err
}

// DeleteCoordination removes the checkpoints that carry a coordination's label. It removes
// the whole thread if all its checkpoints carry it. It returns sums over the threads,
// zeros if there are no such checkpoints.
//
// If it fails in the middle, the sums count what was removed. An error that [DeleteThread]
// returns with a result does not stop it, and is part of its own error. So is
// [posthouse.ErrConflict] for each thread that stays and has checkpoints of the label in
// released versions, which can only be dropped ([DropRelease]).
func DeleteCoordination(ctx context.Context, led *ledger.Ledger, name string, o *DeleteOptions) (*Deleted, error) {
	l := led.Core()
	if err := posthouse.ValidateName("coordination", name); err != nil {
		return nil, err
	}
	var threads []string
	for h, err := range l.Store.List(ctx, posthouse.Query{Coordination: name}) {
		if err != nil {
			return nil, err
		}
		threads = append(threads, h.Thread)
	}
	slices.Sort(threads)
	var sum Deleted
	var errs []error
	for _, thread := range slices.Compact(threads) {
		del, err := deleteLabelled(ctx, l, thread, name, o)
		if del == nil && errors.Is(err, posthouse.ErrNotFound) {
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
		l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpDeleted, At: l.Now(), Coordination: name, Count: sum.Checkpoints})
	}
	return &sum, errors.Join(errs...)
}

// deleteLabelled removes a thread's checkpoints of a coordination, or the whole thread if
// it has no others.
func deleteLabelled(ctx context.Context, c *commit.Committer, thread, name string, o *DeleteOptions) (*Deleted, error) {
	labelled := func(t *threadlog.Tree) (seqs []uint64) {
		for _, seq := range t.ByID {
			if t.Nodes[seq].Header.Coordination == name {
				seqs = append(seqs, seq)
			}
		}
		slices.Sort(seqs)
		return seqs
	}
	var found []uint64
	del, err := deleteWhole(ctx, c, thread, o, func(t *threadlog.Tree) bool {
		found = labelled(t)
		return len(found) == len(t.ByID)
	})
	if !errors.Is(err, core.ErrNothing) {
		return del, err
	}
	del, err = deleteIn(ctx, c.Core, posthouse.Ref{Thread: thread}, o, func(t *threadlog.Tree) ([]uint64, error) {
		seqs := labelled(t)
		if len(seqs) == 0 {
			return nil, posthouse.NotFound("checkpoint of", name)
		}
		return seqs, nil
	})
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) || len(found) == 0 {
		return del, err
	}
	info, e := c.Logs.Summary(ctx, thread)
	if e != nil || found[0] >= info.First {
		return del, errors.Join(err, e)
	}
	if del == nil {
		del = &Deleted{}
	}
	return del, closedVersion(ctx, c.Core, posthouse.Ref{Thread: thread, Seq: found[0]})
}
