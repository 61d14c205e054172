package posthouse

import (
	"context"
	"encoding/json"
	"errors"
)

// DropRelease removes all that a released version holds; its record stays, and
// a record of the current generation attests what went. Forks of it in other
// places have all they need. o.Mode is not heeded. [ErrNotFound] for an unknown
// version; dropping one again takes nothing. [ErrBusy] while the thread is run.
func (l *Ledger) DropRelease(ctx context.Context, thread, versionOrTag string, o *DeleteOptions) (*Deleted, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	var r *Release
	var del Deleted
	var last []BodyRef
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.checkLease(&Draft{Thread: thread}); err != nil {
			return err
		}
		if r, err = l.ReleaseOf(ctx, thread, versionOrTag); err != nil {
			return err
		}
		info := &RemovalInfo{Reason: o.Reason, By: o.By, Version: r.Version}
		if last, err = a.dropVersion(r, info); err != nil {
			return err
		}
		body, err := json.Marshal(RemovedList{Bodies: last})
		if err != nil {
			return err
		}
		del = Deleted{Checkpoints: info.Archived}
		a.add(Record{Kind: RecordRemoval, Removal: info}, body)
		a.sign = true
		return nil
	})
	if errors.Is(err, errNothing) {
		return &Deleted{}, nil
	}
	if err != nil {
		return nil, err
	}
	l.retained.deleted(del.Checkpoints)
	for _, gone := range []Removal{{Thread: thread, From: r.First, Below: r.Seq}, {Thread: thread, Bodies: last}} {
		if gone.Below <= gone.From && len(gone.Bodies) == 0 {
			continue
		}
		removed, err := l.store.Remove(ctx, gone)
		if err != nil {
			return &del, err
		}
		del.Bodies, del.Bytes = del.Bodies+removed.Bodies, del.Bytes+removed.Bytes
	}
	if err := l.dropKey(ctx, dataKeyOf{thread, r.Version}); err != nil {
		return &del, err
	}
	l.opt.Observer.deleted(l.opt.Logger, ObserverEvent{At: l.Now(), Thread: thread, Count: del.Checkpoints, Release: r})
	return &del, nil
}

// dropVersion takes a version's ids out of the index, counts the checkpoints
// among them, and returns the bodies in the entry that stays; errNothing if all
// is gone already.
func (a *appending) dropVersion(r *Release, info *RemovalInfo) (last []BodyRef, err error) {
	seen, held := map[ID]bool{}, false
	drop := func(id ID) (bool, error) {
		if seen[id] {
			return false, nil
		}
		seen[id] = true
		ref, err := a.l.store.Find(a.ctx, id)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil || ref.Thread != a.t.name || ref.Seq < r.First || ref.Seq > r.Seq {
			return false, err // taken anew since it was deleted here
		}
		a.drop = append(a.drop, id)
		return true, nil
	}
	for e, err := range a.l.store.Read(a.ctx, a.t.name, Range{From: r.First, To: r.Seq, Headers: true}) {
		if err != nil {
			return nil, err
		}
		recs, err := e.Records()
		if err != nil {
			return nil, err
		}
		held = held || e.Seq < r.Seq
		for i := range recs {
			switch rec := &recs[i]; {
			case rec.Checkpoint != nil:
				gone, err := drop(rec.Checkpoint.ID)
				if err != nil {
					return nil, err
				}
				if gone {
					info.Archived++
				}
			case rec.Gate != nil:
				if _, err := drop(rec.Gate.ID); err != nil {
					return nil, err
				}
			}
			if e.Seq == r.Seq && recs[i].Size > 0 {
				last = append(last, BodyRef{e.Seq, i})
			}
		}
	}
	if len(a.drop) == 0 && !held {
		return nil, errNothing
	}
	return last, nil
}
