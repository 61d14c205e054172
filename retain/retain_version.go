package retain

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// versions drops the released versions of a thread that the policy does not keep.
func (p *pass) versions(ctx context.Context, thread string) error {
	seen := 0
	var old []*posthouse.Release
	for r, err := range p.l.Logs.Releases(ctx, thread) {
		if err != nil {
			return err
		}
		seen++
		tagged := slices.ContainsFunc(r.Tags, func(t string) bool { return slices.Contains(p.KeepTags, t) })
		if seen > p.KeepVersions && !tagged && p.l.Now().Sub(r.At) > p.Released {
			old = append(old, r)
		}
	}
	gone := map[uint32]bool{}
	for _, r := range slices.Backward(old) { // oldest first: a version may require it
		forked, err := false, error(nil)
		if !p.DropSources {
			forked, err = p.lineage.forkedFrom(ctx, p.l.Store, r)
		}
		if err == nil && !forked {
			err = p.version(ctx, r, gone)
			if err == nil {
				gone[r.Version] = true
			}
		}
		switch {
		case errors.Is(err, posthouse.ErrConflict): // it has records about an older version that stays
		case errors.Is(err, posthouse.ErrBusy):
			p.done.Busy++
			return nil
		case errors.Is(err, posthouse.ErrForbidden):
			p.done.Held++
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// version drops a version. In a dry run it counts what that would remove after those in gone.
func (p *pass) version(ctx context.Context, r *posthouse.Release, gone map[uint32]bool) error {
	var del *Deleted
	var err error
	if p.opt.DryRun {
		del, err = sizeOfVersion(ctx, p.l.Core, r, gone)
	} else {
		del, err = DropRelease(ctx, p.ledger, r.Thread, strconv.FormatUint(uint64(r.Version), 10), &DeleteOptions{By: p.opt.By, Reason: p.String()})
	}
	if err != nil {
		return err
	}
	if del.Checkpoints > 0 || del.Bytes > 0 {
		p.done.Versions++
	}
	p.done.Checkpoints += del.Checkpoints
	p.done.Bodies += del.Bodies
	p.done.Bytes += del.Bytes
	return nil
}

func sizeOfVersion(ctx context.Context, c *core.Core, r *posthouse.Release, gone map[uint32]bool) (*Deleted, error) {
	del, info := &Deleted{}, &posthouse.RemovalInfo{}
	err := c.LockAndAppend(ctx, r.Thread, func(tx *core.Tx) error {
		if err := tx.Removable(); err != nil {
			return err
		}
		if _, err := dropVersion(tx, r, info, gone); err != nil {
			return err
		}
		return core.ErrNothing
	})
	if err != nil {
		return nil, err
	}
	del.Checkpoints = info.Archived
	for e, err := range c.Store.Read(ctx, r.Thread, posthouse.Range{From: r.First, To: r.Seq}) {
		if err != nil {
			return nil, err
		}
		if e.Seq < r.Seq {
			del.Bytes += int64(len(e.Header) + len(e.Sig))
		}
		for _, b := range e.Bodies {
			if len(b) > 0 {
				del.Bodies, del.Bytes = del.Bodies+1, del.Bytes+int64(len(b))
			}
		}
	}
	return del, nil
}
