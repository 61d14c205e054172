package retain

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/ledger"
)

// DropRelease removes all entries of a released version except the release record. A
// record of the current generation attests it. Forks of the version stay complete.
// Dropping a version again removes nothing. o.Mode is ignored.
//
// It fails with [posthouse.ErrNotFound] for an unknown version, with [posthouse.ErrBusy]
// while the thread runs, and with [posthouse.ErrConflict] if an older version must be
// dropped first: one that is still there, and about which this version records a removal
// or a lifted hold.
func DropRelease(ctx context.Context, led *ledger.Ledger, thread, versionOrTag string, o *DeleteOptions) (*Deleted, error) {
	l := led.Core()
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	t, err := l.Lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.Unlock(t)
	var r *posthouse.Release
	var del Deleted
	var last []posthouse.BodyRef
	dropped := false
	err = l.Append(ctx, t, func(tx *core.Tx) error {
		if err := tx.Removable(); err != nil {
			return err
		}
		r, err = l.Logs.ReleaseOf(ctx, thread, versionOrTag)
		if err != nil {
			return err
		}
		info := &posthouse.RemovalInfo{Reason: o.Reason, By: o.By, Version: r.Version}
		drop, err := dropVersion(tx, r, info, nil)
		if err != nil {
			return err
		}
		last, del, dropped = drop.last, Deleted{Checkpoints: info.Archived}, true
		info.Left = t.Info.Archived - info.Archived
		return errors.Join(tx.AddRemoval(info, posthouse.RemovedList{Bodies: last}), keepReferenced(tx, drop, info))
	})
	if err != nil {
		return nil, err
	}
	if !dropped {
		return &Deleted{}, nil
	}
	l.Cap.Deleted(del.Checkpoints)
	for _, gone := range []posthouse.Removal{{Thread: thread, From: r.First, Below: r.Seq}, {Thread: thread, Bodies: last}} {
		if gone.Below <= gone.From && len(gone.Bodies) == 0 {
			continue
		}
		removed, err := l.Store.Remove(ctx, gone)
		if err != nil {
			return &del, err
		}
		del.Bodies, del.Bytes = del.Bodies+removed.Bodies, del.Bytes+removed.Bytes
	}
	if err := l.Vault.DropKey(ctx, encryption.DataKeyOf{Thread: thread, Generation: r.Version}); err != nil {
		return &del, err
	}
	l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpDeleted, At: l.Now(), Thread: thread, Count: del.Checkpoints, Release: r})
	return &del, nil
}

// keepReferenced repeats the removals of versions that a dropped version recorded, so that
// verification still finds why those are missing.
func keepReferenced(tx *core.Tx, d *versionDrop, info *posthouse.RemovalInfo) error {
	for r, err := range tx.Core.Logs.Releases(tx.Ctx, tx.Thread.Name) {
		if err != nil {
			return err
		}
		if !d.carry[r.Version] {
			continue
		}
		again := &posthouse.RemovalInfo{Reason: "recorded in version " + strconv.Itoa(int(info.Version)), By: info.By, Version: r.Version, Left: info.Left}
		e, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).Entry(r.Seq, false)
		if err != nil {
			return err
		}
		if err := tx.AddRemoval(again, posthouse.RemovedList{Bodies: bodiesOf(e.Seq, e.Recs)}); err != nil {
			return err
		}
	}
	return nil
}

func bodiesOf(seq uint64, recs []posthouse.Record) (refs []posthouse.BodyRef) {
	for i := range recs {
		if recs[i].Size > 0 {
			refs = append(refs, posthouse.BodyRef{Seq: seq, Record: i})
		}
	}
	return refs
}

// A versionDrop is what dropping a version removes, and must record again.
type versionDrop struct {
	last  []posthouse.BodyRef // the bodies in the entry that stays
	carry map[uint32]bool     // versions that the version records as removed
	older map[uint64]bool     // older entries about which it records a removal
	lifts bool                // it records that a hold was lifted
}

// dropVersion takes a version's ids out of the index and counts the checkpoints among
// them. It fails with [core.ErrNothing] if all are removed already. It takes the older
// versions in without for removed.
func dropVersion(tx *core.Tx, r *posthouse.Release, info *posthouse.RemovalInfo, without map[uint32]bool) (*versionDrop, error) {
	d := &versionDrop{carry: map[uint32]bool{}, older: map[uint64]bool{}}
	seen, held := map[posthouse.ID]bool{}, false
	drop := func(id posthouse.ID) (bool, error) {
		if seen[id] {
			return false, nil
		}
		seen[id] = true
		ref, err := tx.Core.Store.Find(tx.Ctx, id)
		if errors.Is(err, posthouse.ErrNotFound) {
			return false, nil
		}
		if err != nil || ref.Thread != tx.Thread.Name || ref.Seq < r.First || ref.Seq > r.Seq {
			return false, err // the id was used again since it was deleted here
		}
		tx.Drop = append(tx.Drop, id)
		return true, nil
	}
	for e, err := range tx.Core.Store.Read(tx.Ctx, tx.Thread.Name, posthouse.Range{From: r.First, To: r.Seq, Headers: true}) {
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
			case rec.Removal != nil:
				if err := checkRecorded(tx, d, r, e.Seq, rec.Removal); err != nil {
					return nil, err
				}
			case rec.Signal != nil:
				if _, err := drop(rec.Signal.ID); err != nil {
					return nil, err
				}
				d.lifts = d.lifts || rec.Signal.Name == posthouse.SignalUnhold
			}
		}
		if e.Seq == r.Seq {
			d.last = bodiesOf(e.Seq, recs)
		}
	}
	if len(tx.Drop) == 0 && !held {
		return nil, core.ErrNothing
	}
	return d, olderGone(tx, d, r, without)
}

// checkRecorded collects what a removal in the version says about older versions.
func checkRecorded(tx *core.Tx, d *versionDrop, r *posthouse.Release, seq uint64, m *posthouse.RemovalInfo) error {
	if m.Version != 0 {
		d.carry[m.Version] = true
		return nil
	}
	list, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).RemovedList(seq)
	if err != nil {
		return err
	}
	for _, c := range list.Checkpoints {
		if c.Seq < r.First {
			d.older[c.Seq] = true
		}
	}
	for _, b := range list.Bodies {
		if b.Seq < r.First {
			d.older[b.Seq] = true
		}
	}
	return nil
}

// olderGone checks that the older entries about which only this version has records are
// removed.
func olderGone(tx *core.Tx, d *versionDrop, r *posthouse.Release, without map[uint32]bool) error {
	if len(d.older) == 0 && !d.lifts || r.First <= 1 {
		return nil
	}
	before := uint64(0)
	for e, err := range tx.Core.Store.Read(tx.Ctx, tx.Thread.Name, posthouse.Range{To: r.First - 1, Headers: true}) {
		if err != nil {
			return err
		}
		recs, err := e.Records()
		if err != nil {
			return err
		}
		hole := e.Seq > before+1 // only this entry is left of its version
		before = e.Seq
		if without[e.Generation] {
			continue
		}
		held := func(rec posthouse.Record) bool { return rec.Signal != nil && rec.Signal.Name == posthouse.SignalHold }
		if d.older[e.Seq] && !hole || d.lifts && slices.ContainsFunc(recs, held) {
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Message: "version " + strconv.Itoa(int(r.Version)) + " of thread " + r.Thread + " records what was removed, or a hold that was lifted, in version " + strconv.Itoa(int(e.Generation)),
				Hint: "drop version " + strconv.Itoa(int(e.Generation)) + " first",
			}
		}
	}
	return nil
}
