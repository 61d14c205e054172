package transfer

import (
	"encoding/json"
	"maps"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A replay turns a log's entries into the batches that copy it to another store. It runs
// twice: first to check the log and learn which ids lead to it at its end, then to write
// with those ids.
type replay struct {
	info   *posthouse.ThreadInfo    // as of the last entry; nil before the first
	live   map[posthouse.ID]idPlace // ids that the index has as of the last entry
	final  map[posthouse.ID]idPlace // ids that it has at the end of the log; nil in the first run
	absent map[posthouse.BodyRef]bool
	listed map[posthouse.BodyRef]bool // bodies that a removal says may be absent
	spans  map[uint32]threadlog.Span  // of the releases
	holes  map[uint32]bool            // releases without their entries, not yet attested by a removal
	first  uint64                     // the entry that the log begins with

	entries, checkpoints int
	sealed, clear        bool // it has sealed bodies; it has bodies in the clear that encryption would seal
}

// An idPlace is where an id leads.
type idPlace struct {
	seq    uint64
	signal bool
}

func newReplay(final map[posthouse.ID]idPlace) *replay {
	return &replay{
		live: map[posthouse.ID]idPlace{}, final: final, absent: map[posthouse.BodyRef]bool{}, listed: map[posthouse.BodyRef]bool{},
		spans: map[uint32]threadlog.Span{}, holes: map[uint32]bool{},
	}
}

// next checks that e follows the entry before it and returns its batch. bodies reads an
// entry's bodies if e was read without them.
func (p *replay) next(e *posthouse.Entry, bodies func(seq uint64) ([][]byte, error)) (*posthouse.Batch, error) {
	recs, err := e.CheckRecords()
	if err != nil {
		return nil, err
	}
	if p.info == nil {
		p.info, err = p.startAfter(e, recs)
		if err != nil {
			return nil, err
		}
		p.first = e.Seq
	}
	b := &posthouse.Batch{After: p.info.Tail, Entry: e, Copy: true}
	if p.entries == 0 {
		b.After = posthouse.Position{}
	}
	info := *p.info
	if err := info.ApplyRecords(e, recs); err != nil {
		return nil, err
	}
	if r := releaseOf(recs); r != nil {
		p.spans[r.Version] = threadlog.Span{Version: r.Version, First: r.First, Last: e.Seq}
		if e.Seq > p.info.Tail.Seq+1 {
			p.holes[r.Version] = true
		}
	}
	for i := range recs {
		r := &recs[i]
		p.sealed = p.sealed || r.Sealed
		p.clear = p.clear || r.Size > 0 && r.Kind.Seals() && !r.Sealed
		if r.Size > 0 && e.Bodies != nil && len(e.Bodies[i]) == 0 {
			p.absent[posthouse.BodyRef{Seq: e.Seq, Record: i}] = true
		}
		if err := p.index(b, r, i, bodies); err != nil {
			return nil, err
		}
	}
	b.Thread, p.info = &info, &info
	p.entries++
	return b, nil
}

// startAfter returns the summary before the first entry, which may attest that what came before
// was removed.
func (p *replay) startAfter(e *posthouse.Entry, recs []posthouse.Record) (*posthouse.ThreadInfo, error) {
	if e.Seq == 1 {
		if e.Generation != 1 || !e.Prev.IsZero() {
			return nil, posthouse.Corrupt("the first entry of thread %q says that another came before", e.Thread)
		}
		return &posthouse.ThreadInfo{Thread: e.Thread}, nil
	}
	if r := releaseOf(recs); r != nil && r.First == 1 {
		return &posthouse.ThreadInfo{Thread: e.Thread}, nil
	}
	for i := range recs {
		if recs[i].Removal != nil && recs[i].Removal.Whole {
			return &posthouse.ThreadInfo{Thread: e.Thread, Generation: e.Generation, Tail: posthouse.Position{Seq: e.Seq - 1}, Link: e.Prev}, nil
		}
	}
	return nil, posthouse.Corrupt("thread %q begins with entry %d, and no removal says why", e.Thread, e.Seq)
}

func releaseOf(recs []posthouse.Record) *posthouse.ReleaseInfo {
	if n := len(recs); n > 0 {
		return recs[n-1].Release
	}
	return nil
}

// index adds a record's changes of the index. It leaves out ids that no longer lead here at
// the end of the log, since they may lead elsewhere.
func (p *replay) index(b *posthouse.Batch, r *posthouse.Record, i int, bodies func(uint64) ([][]byte, error)) error {
	add := func(id posthouse.IndexedID) error {
		if err := id.ID.Validate(); err != nil {
			return posthouse.Corrupt("entry %d of thread %q has an id that is none: %v", b.Entry.Seq, b.Entry.Thread, err)
		}
		p.live[id.ID] = idPlace{b.Entry.Seq, r.Signal != nil}
		if _, stays := p.final[id.ID]; p.final == nil || stays {
			b.IDs = append(b.IDs, id)
		}
		return nil
	}
	switch {
	case r.Checkpoint != nil:
		p.checkpoints++
		return add(posthouse.IndexedID{ID: r.Checkpoint.ID, Order: r.Checkpoint.Order, Header: r.Checkpoint, Replace: r.Checkpoint.Revision > 0})
	case r.Gate != nil:
		return add(posthouse.IndexedID{ID: r.Gate.ID})
	case r.Signal != nil:
		return add(posthouse.IndexedID{ID: r.Signal.ID})
	case r.Decision != nil && p.live[r.Decision.Gate].seq != 0:
		return add(posthouse.IndexedID{ID: r.Decision.Gate, Replace: true})
	case r.Removal != nil && r.Removal.Whole:
		for id := range p.live {
			p.drop(b, id)
		}
		clear(p.absent)
		clear(p.holes)
		return nil
	case r.Removal != nil:
		return p.removal(b, r, i, bodies)
	}
	return nil
}

func (p *replay) removal(b *posthouse.Batch, r *posthouse.Record, i int, bodies func(uint64) ([][]byte, error)) error {
	all, err := b.Entry.Bodies, error(nil)
	if all == nil && r.Size > 0 {
		all, err = bodies(b.Entry.Seq)
		if err != nil {
			return err
		}
	}
	var list posthouse.RemovedList
	if r.Size > 0 {
		if i >= len(all) || len(all[i]) == 0 {
			return posthouse.Corrupt("the removal at entry %d of thread %q has lost its list", b.Entry.Seq, b.Entry.Thread)
		}
		if err := json.Unmarshal(all[i], &list); err != nil {
			return posthouse.Corrupt("the removal at entry %d of thread %q does not decode: %v", b.Entry.Seq, b.Entry.Thread, err)
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
	if s, ok := p.spans[r.Removal.Version]; ok {
		delete(p.holes, s.Version)
		for id, at := range p.live {
			if at.seq >= s.First && at.seq <= s.Last && !at.signal { // signals go with their entries
				p.drop(b, id)
			}
		}
	}
	return nil
}

func (p *replay) drop(b *posthouse.Batch, id posthouse.ID) {
	if _, ok := p.live[id]; ok {
		b.Drop = append(b.Drop, id)
		delete(p.live, id)
	}
}

// checkComplete fails if a body or a version is missing that no removal lists.
func (p *replay) checkComplete() error {
	for b := range p.absent {
		if !p.listed[b] {
			return posthouse.Corrupt("the body of record %d of entry %d of thread %q is gone, and no removal lists it", b.Record, b.Seq, p.info.Thread)
		}
	}
	for v := range p.holes {
		return posthouse.Corrupt("the entries of version %d of thread %q are gone, and no removal says so", v, p.info.Thread)
	}
	return nil
}

// reached fails if the log ends before the end that its summary gave.
func (p *replay) reached(thread string, tail posthouse.Position) error {
	last := uint64(0)
	if p.info != nil {
		last = p.info.Tail.Seq
	}
	if last < tail.Seq {
		return posthouse.Corrupt("the log of thread %q ends at entry %d, and its summary says at %d", thread, last, tail.Seq)
	}
	return nil
}

// again returns the replay for the second run.
func (p *replay) again() *replay { return newReplay(maps.Clone(p.live)) }
