package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// DropRelease removes all that a released version holds; its record stays, and
// a record of the current generation attests what went. Forks of it in other
// places have all they need. o.Mode is not heeded. [ErrNotFound] for an unknown
// version; dropping one again takes nothing. [ErrBusy] while the thread is run;
// [ErrConflict] if the version records what was removed, or that a hold was
// lifted, in an older one that is still there, which has to go first.
func (l *Core) DropRelease(ctx context.Context, thread, versionOrTag string, o *DeleteOptions) (*Deleted, error) {
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
		if err := a.removable(); err != nil {
			return err
		}
		if r, err = l.ReleaseOf(ctx, thread, versionOrTag); err != nil {
			return err
		}
		info := &RemovalInfo{Reason: o.Reason, By: o.By, Version: r.Version}
		drop, err := a.dropVersion(r, info, nil)
		if err != nil {
			return err
		}
		last, del = drop.last, Deleted{Checkpoints: info.Archived}
		info.Left = t.info.Archived - info.Archived
		a.sign = true
		return errors.Join(a.dropped(info, last), a.carry(drop, info))
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
	l.observe(Operation{Kind: OpDeleted, At: l.Now(), Thread: thread, Count: del.Checkpoints, Release: r})
	return &del, nil
}

// dropped adds the record of a removed version.
func (a *appending) dropped(info *RemovalInfo, last []BodyRef) error {
	body, err := json.Marshal(RemovedList{Bodies: last})
	if err != nil {
		return err
	}
	a.add(Record{Kind: RecordRemoval, Removal: info}, body)
	return nil
}

// carry records again what versions a dropped one recorded as removed: who
// verifies the log must still find why they are not there.
func (a *appending) carry(d *versionDrop, info *RemovalInfo) error {
	for r, err := range a.l.Releases(a.ctx, a.t.name) {
		if err != nil {
			return err
		}
		if !d.carry[r.Version] {
			continue
		}
		again := &RemovalInfo{Reason: "recorded in version " + itoa(int(info.Version)), By: info.By, Version: r.Version, Left: info.Left}
		e, err := a.l.reader(a.ctx, a.t.name).entry(r.Seq, false)
		if err != nil {
			return err
		}
		if err := a.dropped(again, bodiesOf(e.Seq, e.recs)); err != nil {
			return err
		}
	}
	return nil
}

func bodiesOf(seq uint64, recs []Record) (refs []BodyRef) {
	for i := range recs {
		if recs[i].Size > 0 {
			refs = append(refs, BodyRef{seq, i})
		}
	}
	return refs
}

// A versionDrop is what dropping a version takes.
type versionDrop struct {
	last  []BodyRef       // the bodies in the entry that stays
	carry map[uint32]bool // versions whose removal it records
	older map[uint64]bool // older entries of which it records that something was removed
	lifts bool            // it records that a hold was lifted
}

// dropVersion takes a version's ids out of the index and counts the checkpoints
// among them; errNothing if all is gone already. Older versions in without are
// taken for gone.
func (a *appending) dropVersion(r *Release, info *RemovalInfo, without map[uint32]bool) (*versionDrop, error) {
	d := &versionDrop{carry: map[uint32]bool{}, older: map[uint64]bool{}}
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
			case rec.Removal != nil:
				if err := a.recorded(d, r, e.Seq, rec.Removal); err != nil {
					return nil, err
				}
			case rec.Signal != nil:
				if _, err := drop(rec.Signal.ID); err != nil {
					return nil, err
				}
				d.lifts = d.lifts || rec.Signal.Name == signalUnhold
			}
		}
		if e.Seq == r.Seq {
			d.last = bodiesOf(e.Seq, recs)
		}
	}
	if len(a.drop) == 0 && !held {
		return nil, errNothing
	}
	return d, a.olderGone(d, r, without)
}

// recorded notes what a removal in the version says about older ones.
func (a *appending) recorded(d *versionDrop, r *Release, seq uint64, m *RemovalInfo) error {
	if m.Version != 0 {
		d.carry[m.Version] = true
		return nil
	}
	list, err := a.l.reader(a.ctx, a.t.name).removedList(seq)
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

// olderGone makes sure that nothing is left of what only this version tells
// about.
func (a *appending) olderGone(d *versionDrop, r *Release, without map[uint32]bool) error {
	if len(d.older) == 0 && !d.lifts || r.First <= 1 {
		return nil
	}
	before := uint64(0)
	for e, err := range a.l.store.Read(a.ctx, a.t.name, Range{To: r.First - 1, Headers: true}) {
		if err != nil {
			return err
		}
		recs, err := e.Records()
		if err != nil {
			return err
		}
		hole := e.Seq > before+1 // this is all that is left of a version
		before = e.Seq
		if without[e.Generation] {
			continue
		}
		held := func(rec Record) bool { return rec.Signal != nil && rec.Signal.Name == signalHold }
		if d.older[e.Seq] && !hole || d.lifts && slices.ContainsFunc(recs, held) {
			return &Error{
				Code: CodeConflict, Message: "version " + itoa(int(r.Version)) + " of thread " + r.Thread + " records what was removed, or a hold that was lifted, in version " + itoa(int(e.Generation)),
				Hint: "drop version " + itoa(int(e.Generation)) + " first",
			}
		}
	}
	return nil
}
