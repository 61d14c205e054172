package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// Compact takes away for good what removal records attest, and lets the store
// rewrite the rest into fewer bytes: [ErrUnsupported], once the first is done,
// if the store cannot. Being killed at any point loses nothing.
func (l *Core) Compact(ctx context.Context) (Compacted, error) {
	for t, err := range l.store.Threads(ctx, ThreadQuery{}) {
		if err != nil {
			return Compacted{}, err
		}
		if t.Hold.Seq != 0 {
			continue
		}
		if err := l.sweep(ctx, t.Thread); err != nil {
			return Compacted{}, err
		}
	}
	c, ok := l.store.(Compacter)
	if !ok {
		return Compacted{}, &Error{Code: CodeUnsupported, Message: "this store cannot be compacted"}
	}
	return c.Compact(ctx)
}

// sweep takes what removal records attest and a failure left behind: a deleted
// thread's entries, bodies of removed checkpoints that nothing needs any more.
func (l *Core) sweep(ctx context.Context, thread string) error {
	tree, err := l.tree(ctx, thread, 0)
	if err != nil {
		return err
	}
	if tree.first < tree.floor {
		if _, err := l.store.Remove(ctx, Removal{Thread: thread, Below: tree.floor}); err != nil {
			return err
		}
	}
	if err := l.dropKeys(ctx, thread, tree.gone); err != nil {
		return err
	}
	if took, err := l.takeDropped(ctx, tree); err != nil {
		return err
	} else if took {
		if tree, err = l.tree(ctx, thread, 0); err != nil {
			return err
		}
	}
	gone, unlisted := tree.unneeded()
	if len(unlisted) > 0 {
		err := l.attest(ctx, thread)
		switch {
		case errors.Is(err, ErrBusy), errors.Is(err, ErrForbidden): // the next compaction takes them
			gone = slices.DeleteFunc(gone, func(b BodyRef) bool { return !tree.listed[b] })
		case err != nil:
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err = l.store.Remove(ctx, Removal{Thread: thread, Bodies: gone})
	return err
}

// takeDropped takes the entries of dropped releases that are still there, and
// their keys.
func (l *Core) takeDropped(ctx context.Context, t *threadTree) (took bool, err error) {
	for _, s := range t.dropped {
		if s.held {
			took = true
			if _, err := l.store.Remove(ctx, Removal{Thread: t.thread, From: s.first, Below: s.last}); err != nil {
				return took, err
			}
		}
		if err := l.dropKey(ctx, dataKeyOf{t.thread, s.version}); err != nil {
			return took, err
		}
	}
	return took, nil
}

// attest records the bodies that removed checkpoints left behind and that no
// removal record lists yet: those of evicted ones, and those that other
// checkpoints needed and no longer do.
func (l *Core) attest(ctx context.Context, thread string) error {
	t, err := l.lock(thread)
	if err != nil {
		return err
	}
	defer l.unlock(t)
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.removable(); err != nil {
			return err
		}
		tree, err := l.tree(ctx, thread, 0)
		if err != nil {
			return err
		}
		_, unlisted := tree.unneeded()
		if len(unlisted) == 0 {
			return errNothing
		}
		body, err := json.Marshal(RemovedList{Bodies: unlisted})
		if err != nil {
			return err
		}
		a.sign = true
		a.add(Record{Kind: RecordRemoval, Removal: &RemovalInfo{Reason: "compaction", By: "posthouse"}}, body)
		return nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// unneeded returns the bodies of removed checkpoints that nothing is rebuilt
// from, and among them those that no removal record lists.
func (t *threadTree) unneeded() (gone, unlisted []BodyRef) {
	var need map[BodyRef]bool
	for _, seq := range t.seqs {
		n := t.nodes[seq]
		if !n.removed || n.header.ID == "" {
			continue
		}
		if _, kept := t.byID[n.header.ID]; kept {
			continue // an earlier revision stays readable
		}
		if need == nil {
			need = t.needed()
		}
		for _, b := range n.bodies(seq) {
			if need[b] {
				continue
			}
			gone = append(gone, b)
			if !t.listed[b] {
				unlisted = append(unlisted, b)
			}
		}
	}
	return gone, unlisted
}
