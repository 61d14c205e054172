package posthouse

import (
	"encoding/json"
	"maps"
)

// A replay makes of a log's entries the batches that put it into another store
// as it is. It is run twice: the first time to check the log and learn which
// ids lead to it in the end, the second time, with those, to write.
type replay struct {
	info   *ThreadInfo // as of the last entry; nil before the first
	live   map[ID]bool // ids that the index has as of the last entry
	final  map[ID]bool // those that it has in the end; nil in the first run
	absent map[BodyRef]bool
	listed map[BodyRef]bool // bodies that a removal says may be absent

	entries, checkpoints int
}

func newReplay(final map[ID]bool) *replay {
	return &replay{live: map[ID]bool{}, final: final, absent: map[BodyRef]bool{}, listed: map[BodyRef]bool{}}
}

// next checks that e follows and returns its batch. bodies reads the entry's
// bodies where e was read without them.
func (p *replay) next(e *Entry, bodies func(seq uint64) ([][]byte, error)) (*Batch, error) {
	recs, err := e.check()
	if err != nil {
		return nil, err
	}
	if p.info == nil {
		if p.info, err = p.begin(e, recs); err != nil {
			return nil, err
		}
	}
	b := &Batch{After: p.info.Tail, Entry: e, Copy: true}
	if p.entries == 0 {
		b.After = Position{}
	}
	info := *p.info
	if err := info.Apply(e); err != nil {
		return nil, err
	}
	for i := range recs {
		r := &recs[i]
		if r.Size > 0 && e.Bodies != nil && len(e.Bodies[i]) == 0 {
			p.absent[BodyRef{e.Seq, i}] = true
		}
		if err := p.index(b, r, i, bodies); err != nil {
			return nil, err
		}
	}
	b.Thread, p.info = &info, &info
	p.entries++
	return b, nil
}

// begin returns what the first entry follows: nothing, or a part of the log
// that it says was removed.
func (p *replay) begin(e *Entry, recs []Record) (*ThreadInfo, error) {
	if e.Seq == 1 {
		if e.Generation != 1 || !e.Prev.IsZero() {
			return nil, corrupt("the first entry of thread %q says that another came before", e.Thread)
		}
		return &ThreadInfo{Thread: e.Thread}, nil
	}
	for i := range recs {
		if recs[i].Removal != nil && recs[i].Removal.Whole {
			return &ThreadInfo{Thread: e.Thread, Generation: e.Generation, Tail: Position{Seq: e.Seq - 1}, Link: e.Prev}, nil
		}
	}
	return nil, corrupt("thread %q begins with entry %d, and no removal says why", e.Thread, e.Seq)
}

// index adds what a record does to the index. What no longer leads here in the
// end is left out, since it may lead elsewhere by now.
func (p *replay) index(b *Batch, r *Record, i int, bodies func(uint64) ([][]byte, error)) error {
	add := func(id IndexedID) error {
		if err := id.ID.Validate(); err != nil {
			return corrupt("entry %d of thread %q has an id that is none: %v", b.Entry.Seq, b.Entry.Thread, err)
		}
		p.live[id.ID] = true
		if p.final == nil || p.final[id.ID] {
			b.IDs = append(b.IDs, id)
		}
		return nil
	}
	switch {
	case r.Checkpoint != nil:
		p.checkpoints++
		return add(IndexedID{ID: r.Checkpoint.ID, Order: r.Checkpoint.Order, Header: r.Checkpoint, Replace: r.Checkpoint.Revision > 0})
	case r.Gate != nil:
		return add(IndexedID{ID: r.Gate.ID})
	case r.Signal != nil:
		return add(IndexedID{ID: r.Signal.ID})
	case r.Decision != nil && p.live[r.Decision.Gate]:
		return add(IndexedID{ID: r.Decision.Gate, Replace: true})
	case r.Removal != nil && r.Removal.Whole:
		for id := range p.live {
			p.drop(b, id)
		}
		clear(p.absent)
		return nil
	case r.Removal != nil:
		return p.removal(b, r, i, bodies)
	}
	return nil
}

func (p *replay) removal(b *Batch, r *Record, i int, bodies func(uint64) ([][]byte, error)) error {
	all, err := b.Entry.Bodies, error(nil)
	if all == nil && r.Size > 0 {
		if all, err = bodies(b.Entry.Seq); err != nil {
			return err
		}
	}
	var list RemovedList
	if r.Size > 0 {
		if i >= len(all) || len(all[i]) == 0 {
			return corrupt("the removal at entry %d of thread %q has lost its list", b.Entry.Seq, b.Entry.Thread)
		}
		if err := json.Unmarshal(all[i], &list); err != nil {
			return corrupt("the removal at entry %d of thread %q does not decode: %v", b.Entry.Seq, b.Entry.Thread, err)
		}
	}
	for _, c := range list.Checkpoints {
		p.drop(b, c.ID)
	}
	for _, g := range r.Removal.Gates {
		p.drop(b, g)
	}
	for _, body := range list.Bodies {
		p.listed[body] = true
	}
	return nil
}

func (p *replay) drop(b *Batch, id ID) {
	if p.live[id] {
		b.Drop = append(b.Drop, id)
		delete(p.live, id)
	}
}

// missing returns a body that is absent and that no removal lists.
func (p *replay) missing() (BodyRef, bool) {
	for b := range p.absent {
		if !p.listed[b] {
			return b, true
		}
	}
	return BodyRef{}, false
}

// lost is the error for a body that is missing.
func (p *replay) lost() error {
	if b, ok := p.missing(); ok {
		return corrupt("the body of record %d of entry %d of thread %q is gone, and no removal lists it", b.Record, b.Seq, p.info.Thread)
	}
	return nil
}

// again returns the second run.
func (p *replay) again() *replay { return newReplay(maps.Clone(p.live)) }
