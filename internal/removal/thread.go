package removal

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Options say who removes a thread, and why. They are checked by the caller.
type Options struct {
	By, Reason string

	// If judges the thread under its lock. Where it reports false, nothing is removed and the
	// error is [core.ErrNothing]. Nil removes the thread.
	If func(*core.Tx, *threadlog.Tree) (bool, error)
}

// A Removed counts what the removal of a thread removed.
type Removed struct {
	Checkpoints int
	Gates       int // open ones, which were cancelled
	Bodies      int
	Bytes       int64
}

// Thread removes a thread with its keys and slots, and cancels the threads that it waited for.
// An error together with a result says which threads could not be cancelled, or that damage or
// a missing key hides which they are: the thread is removed all the same.
// [posthouse.ErrNotFound] for a thread that is not there or was removed before.
func Thread(ctx context.Context, c *commit.Committer, thread string, o Options) (*Removed, error) {
	w := whole{thread: thread, opt: &o}
	del, err := w.remove(ctx, c.Core)
	if del == nil {
		return nil, err
	}
	commit.WakeCaller(ctx, c, w.caller, thread)
	if len(w.called) == 0 {
		return del, err
	}
	cancel := commit.Cancellation{By: o.By, Reason: "thread " + thread + ", which waited for it, was deleted"}
	if e := commit.CancelThreads(context.WithoutCancel(ctx), c, w.called, cancel, map[string]bool{thread: true}); e != nil {
		err = errors.Join(err, e)
	}
	return del, err
}

// remove removes the thread.
func (w *whole) remove(ctx context.Context, c *core.Core) (_ *Removed, err error) {
	thread := w.thread
	s, err := c.Logs.Summary(ctx, thread)
	if err != nil {
		return nil, err
	}
	if s.Gone() && s.Releases == 0 {
		return nil, posthouse.NotFound("thread", thread)
	}
	t, err := c.Lock(thread)
	if err != nil {
		return nil, err
	}
	defer c.Unlock(t)
	if err := c.Append(ctx, t, func(tx *core.Tx) error { return w.draft(ctx, c, tx) }); err != nil {
		return nil, err
	}
	if w.keeps {
		return nil, core.ErrNothing
	}
	t.Heads = map[string]*core.Head{}
	c.Cap.Deleted(w.del.Checkpoints)
	removed, err := c.Store.Remove(ctx, posthouse.Removal{Thread: thread, Below: t.Info.Tail.Seq})
	w.del.Bodies, w.del.Bytes = removed.Bodies, removed.Bytes
	if err == nil && w.sealed {
		err = c.Vault.DropKeysUpTo(ctx, thread, t.Info.Generation-1)
	}
	if err == nil {
		err = w.slots.drop(ctx, c, thread)
	}
	if w.unread != nil {
		err = errors.Join(err, fmt.Errorf("tell what thread %s, which was deleted, waited for: %w", thread, w.unread))
	}
	return &w.del, err
}

// A whole is the removal of a thread, and what its entry found out.
type whole struct {
	thread string
	opt    *Options

	del    Removed
	slots  slots
	sealed bool // it may have keys
	keeps  bool // Options.If said that it stays
	called []string
	caller string // the thread that may wait for this one
	unread error  // why called may lack some
}

// draft makes the entry that removes the thread. It may be called again, on a newer log.
func (w *whole) draft(ctx context.Context, c *core.Core, tx *core.Tx) (err error) {
	t := tx.Thread
	if err := tx.Removable(); err != nil {
		return err
	}
	if t.Info.Gone() && t.Info.Releases == 0 {
		return posthouse.NotFound("thread", w.thread)
	}
	if err := commit.CheckSettled(tx, ""); err != nil {
		return err
	}
	if w.opt.If != nil {
		tree, err := c.Logs.Tree(ctx, w.thread, 0)
		if err != nil {
			return err
		}
		goes, err := w.opt.If(tx, tree)
		if err != nil {
			return err
		}
		w.keeps = !goes
		if w.keeps {
			return core.ErrNothing
		}
	}
	w.caller = commit.CallerOf(t.Info)
	w.slots, err = list(ctx, c, w.thread)
	if err != nil {
		return err
	}
	w.sealed = w.sealed || t.Info.Sealed || t.Info.Releases > 0 || c.Config.Cipher != nil
	info := &posthouse.RemovalInfo{Reason: w.opt.Reason, By: w.opt.By, Whole: true, Count: t.Info.Checkpoints, Archived: t.Info.Archived}
	if err := tx.DropAll(); err != nil {
		return err
	}
	for _, b := range t.Info.Branches {
		info.Heads = append(info.Heads, posthouse.BranchHead{Branch: b.Branch})
	}
	var calls []posthouse.ID
	for _, g := range t.Info.Waiting {
		info.Gates = append(info.Gates, g.ID)
		if g.Kind == posthouse.GateThread {
			calls = append(calls, g.ID)
		}
	}
	w.del = Removed{Checkpoints: info.Count + info.Archived, Gates: len(info.Gates)}
	w.called, w.unread = commit.WaitedFor(ctx, c, calls)
	if w.unread != nil && !errors.Is(w.unread, posthouse.ErrCorrupt) && !errors.Is(w.unread, posthouse.ErrSealed) {
		return w.unread // a second try may find out; once the thread is gone, nothing can
	}
	tx.Add(posthouse.Record{Kind: posthouse.RecordRemoval, Removal: info}, nil)
	tx.Sign = true
	return nil
}
