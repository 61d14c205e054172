package retain

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/internal/removal"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// Compact removes leftovers of earlier removals that removal records attest. Then it lets
// the store rewrite the rest into fewer bytes, or fails with [posthouse.ErrUnsupported]
// if the store cannot. It may be killed at any point and loses nothing.
func Compact(ctx context.Context, led *ledger.Ledger) (posthouse.Compacted, error) {
	l := led.Core()
	forks, err := findSources(ctx, l.Core)
	if err != nil {
		return posthouse.Compacted{}, err
	}
	for t, err := range l.Store.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return posthouse.Compacted{}, err
		}
		if t.Hold.Seq != 0 || posthouse.IsRuntimeThread(t.Thread) {
			continue
		}
		if err := sweepThread(ctx, l.Core, t.Thread, forks); err != nil {
			return posthouse.Compacted{}, err
		}
	}
	c, ok := l.Store.(posthouse.Compacter)
	if !ok {
		return posthouse.Compacted{}, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "this store cannot be compacted"}
	}
	return c.Compact(ctx)
}

// sweepThread removes what removal records attest and a failure left: the entries and
// slots of a deleted thread, and bodies of removed checkpoints that nothing needs any
// more.
func sweepThread(ctx context.Context, c *core.Core, thread string, forks sources) error {
	tree, err := wholeTree(ctx, c, thread, forks)
	if err != nil {
		return err
	}
	if tree.First < tree.Floor {
		if _, err := c.Store.Remove(ctx, posthouse.Removal{Thread: thread, Below: tree.Floor}); err != nil {
			return err
		}
	}
	if err := c.Vault.DropKeysUpTo(ctx, thread, tree.Gone); err != nil {
		return err
	}
	if tree.Gone > 0 {
		if err := removal.SweepSlots(ctx, c, thread); err != nil {
			return err
		}
	}
	if took, err := takeDropped(ctx, c, tree); err != nil {
		return err
	} else if took {
		tree, err = wholeTree(ctx, c, thread, forks)
		if err != nil {
			return err
		}
	}
	gone, unlisted := unneeded(tree)
	if len(unlisted) > 0 {
		err := recordUnneeded(ctx, c, thread, forks)
		switch {
		case errors.Is(err, posthouse.ErrBusy), errors.Is(err, posthouse.ErrForbidden): // the next compaction removes them
			gone = slices.DeleteFunc(gone, func(b posthouse.BodyRef) bool { return !tree.Listed[b] })
		case err != nil:
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err = c.Store.Remove(ctx, posthouse.Removal{Thread: thread, Bodies: gone})
	return err
}

// wholeTree reads all of a thread, with the gates of its current generation that stay.
func wholeTree(ctx context.Context, c *core.Core, thread string, forks sources) (*threadlog.Tree, error) {
	tree, err := c.Logs.Tree(ctx, thread, 0)
	if err != nil {
		return nil, err
	}
	info, err := c.Logs.Summary(ctx, thread)
	if err != nil {
		return nil, err
	}
	return tree, c.Logs.KeepApprovals(ctx, tree, info, c.Now(), forks.has)
}

// takeDropped removes the entries of dropped releases that are still there, and their
// keys.
func takeDropped(ctx context.Context, c *core.Core, t *threadlog.Tree) (took bool, err error) {
	for _, s := range t.Dropped {
		if s.Held {
			took = true
			if _, err := c.Store.Remove(ctx, posthouse.Removal{Thread: t.Thread, From: s.First, Below: s.Last}); err != nil {
				return took, err
			}
		}
		if err := c.Vault.DropKey(ctx, encryption.DataKeyOf{Thread: t.Thread, Generation: s.Version}); err != nil {
			return took, err
		}
	}
	return took, nil
}

// recordUnneeded adds a removal record for bodies of removed checkpoints that no record
// lists yet: bodies of evicted checkpoints, and bodies that another checkpoint no longer
// needs.
func recordUnneeded(ctx context.Context, c *core.Core, thread string, forks sources) error {
	return c.LockAndAppend(ctx, thread, func(tx *core.Tx) error {
		if err := tx.Removable(); err != nil {
			return err
		}
		tree, err := wholeTree(ctx, c, thread, forks)
		if err != nil {
			return err
		}
		_, unlisted := unneeded(tree)
		if len(unlisted) == 0 {
			return core.ErrNothing
		}
		return tx.AddRemoval(&posthouse.RemovalInfo{Reason: "compaction", By: "posthouse"}, posthouse.RemovedList{Bodies: unlisted})
	})
}

// unneeded returns the bodies of removed checkpoints from which nothing is rebuilt.
// unlisted are those that no removal record lists.
func unneeded(t *threadlog.Tree) (gone, unlisted []posthouse.BodyRef) {
	var need map[posthouse.BodyRef]bool
	for _, seq := range t.Seqs {
		n := t.Nodes[seq]
		if !n.Removed || n.Header.ID == "" {
			continue
		}
		if _, kept := t.ByID[n.Header.ID]; kept {
			continue // an earlier revision stays readable
		}
		if need == nil {
			need = t.Needed()
		}
		for _, b := range n.Bodies(seq) {
			if need[b] {
				continue
			}
			gone = append(gone, b)
			if !t.Listed[b] {
				unlisted = append(unlisted, b)
			}
		}
	}
	return gone, unlisted
}
