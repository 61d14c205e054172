package memindex

import (
	"fmt"
	"maps"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A Plan judges the appends of a group, each as if those before it were in the index
// already. All plans of an index use the same memory, so only the goroutine that writes to
// the index may have one. [Index.Admit] judges a lone append, for any number at once.
type Plan struct {
	ix     *Index
	tails  map[string]posthouse.Position    // of threads that the group appends to
	hashes map[posthouse.Ref]posthouse.Hash // of its entries
	owners map[posthouse.ID]owner           // of ids that it moves
}

// An owner is the thread that an id leads to.
type owner struct {
	thread string
	there  bool
}

// Plan returns a plan for one group. It ends the plan before it.
func (ix *Index) Plan() *Plan {
	p := &ix.plan
	p.ix = ix
	clear(p.tails)
	clear(p.hashes)
	clear(p.owners)
	return p
}

// Admit judges one append, as [Plan.Admit] does. Callers hold the lock, for reading at least.
func (ix *Index) Admit(bs []*posthouse.Batch) ([]*posthouse.Batch, error) {
	p := Plan{ix: ix}
	return p.Admit(bs, true)
}

// Admit returns those of bs that are not in the log yet. bs passed [valid.Batches]. It
// fails with [posthouse.ErrConflict] or [posthouse.ErrExists], and then the plan is as
// before. An entry that is there already is a conflict if its batch says First. last says that no other
// append of the group follows.
func (p *Plan) Admit(bs []*posthouse.Batch, last bool) ([]*posthouse.Batch, error) {
	for len(bs) > 0 && p.has(bs[0].Entry) {
		if bs[0].First {
			return nil, valid.Conflict(bs[0], p.tail(bs[0].Entry.Thread))
		}
		bs = bs[1:]
	}
	if len(bs) == 0 {
		return nil, nil
	}
	thread := bs[0].Entry.Thread
	if tail := p.tail(thread); tail != bs[0].After {
		return nil, valid.Conflict(bs[0], tail)
	}
	var moved map[posthouse.ID]owner // by bs; nil: by the newest only
	if len(bs) > 1 {
		moved = map[posthouse.ID]owner{}
	}
	for i, b := range bs {
		for _, id := range b.IDs {
			if o := p.owner(moved, id.ID); o.there && !(o.thread == thread && id.Replace) {
				return nil, p.taken(id.ID, o, thread)
			}
		}
		if i == len(bs)-1 {
			break
		}
		p.move(b, moved, moved)
	}
	if !last {
		p.note(bs, moved)
	}
	return bs, nil
}

// move notes in to which ids a batch moves, if those in moved have moved before it.
func (p *Plan) move(b *posthouse.Batch, moved, to map[posthouse.ID]owner) {
	thread := b.Entry.Thread
	for _, id := range b.Drop {
		if o := p.owner(moved, id); o.thread == thread {
			to[id] = owner{}
		}
	}
	for _, id := range b.IDs {
		to[id.ID] = owner{thread, true}
	}
}

// note makes what was admitted count for those that follow. moved is by all of bs but the
// last.
func (p *Plan) note(bs []*posthouse.Batch, moved map[posthouse.ID]owner) {
	if p.tails == nil {
		p.tails, p.hashes, p.owners = map[string]posthouse.Position{}, map[posthouse.Ref]posthouse.Hash{}, map[posthouse.ID]owner{}
	}
	maps.Copy(p.owners, moved)
	p.move(bs[len(bs)-1], nil, p.owners)
	for _, b := range bs {
		p.hashes[posthouse.Ref{Thread: b.Entry.Thread, Seq: b.Entry.Seq}] = b.Entry.Hash
		p.tails[b.Entry.Thread] = b.Thread.Tail
	}
}

func (p *Plan) has(e *posthouse.Entry) bool {
	if hash, ok := p.hashes[posthouse.Ref{Thread: e.Thread, Seq: e.Seq}]; ok {
		return hash == e.Hash
	}
	return p.ix.threads[e.Thread].has(e.Seq, e.Hash)
}

func (p *Plan) tail(thread string) posthouse.Position {
	if tail, ok := p.tails[thread]; ok {
		return tail
	}
	return p.ix.threads[thread].tail()
}

func (p *Plan) owner(moved map[posthouse.ID]owner, id posthouse.ID) owner {
	if o, ok := moved[id]; ok {
		return o
	}
	if o, ok := p.owners[id]; ok {
		return o
	}
	if at, ok := p.ix.ids[id]; ok {
		return owner{at.thread.info.Thread, true}
	}
	return owner{}
}

func (p *Plan) taken(id posthouse.ID, o owner, thread string) error {
	message := fmt.Sprintf("%q is brought twice to thread %q", id, thread)
	if at, ok := p.ix.ids[id]; ok {
		message = fmt.Sprintf("%q is already entry %d of thread %q", id, at.seq, at.thread.info.Thread)
	} else if o.thread != thread {
		message = fmt.Sprintf("%q is already in thread %q", id, o.thread)
	}
	return &posthouse.Error{Code: posthouse.CodeExists, Message: message}
}
