package posthouse

import (
	"bytes"
	"context"
	"slices"

	"github.com/posthouse/posthouse/internal/delta"
)

// manifestEvery is how many checkpoints apart the full lists of parts are.
const manifestEvery = 32

// minRef is the shortest step result worth a reference from a part.
const minRef = 64

// A partState is one part as of a branch's head. Sequence numbers are absolute.
type partState struct {
	name, codec string
	size        int
	last, full  uint64
	chain, dead int
	data        []byte // the value, if known; nil for not known
	known       bool
}

func (p *partState) ref(seq uint64) partRef {
	return partRef{
		name: p.name, codec: p.codec, size: p.size, last: seq - p.last, full: seq - p.full,
		chain: p.chain, dead: p.dead,
	}
}

// An encoder turns the changes of one checkpoint into its part list and body.
type encoder struct {
	l      *Core
	ctx    context.Context
	thread string
	seq    uint64
	base   *head // the parent, nil for a root
	fresh  bool  // the checkpoint begins a branch: give it a manifest
	parts  []partState
	list   partList
	body   []byte
	room   []piece // where the pieces of all changes are
}

// clear keeps the memory for the next checkpoint.
func (e *encoder) clear() {
	changes, body, room := emptied(e.list.changes), e.body[:0], e.room[:0]
	if cap(body) > maxSpare {
		body = nil
	}
	*e = encoder{list: partList{changes: changes}, body: body, room: room}
}

func (e *encoder) find(name string) int {
	return slices.IndexFunc(e.parts, func(p partState) bool { return p.name == name })
}

// value returns a part's current bytes, read back from the store if need be.
func (e *encoder) value(p *partState) ([]byte, error) {
	if !p.known {
		s, err := e.l.rebuild(e.ctx, e.thread, e.base.Seq)
		if err != nil {
			return nil, err
		}
		for i := range e.parts {
			q := &e.parts[i]
			if v, ok := s.state[q.name]; ok && !q.known && q.last != e.seq {
				q.data, q.known = v.Data, true
			}
		}
	}
	return p.data, nil
}

// set makes a part's value v, stored as a splice where that is less.
func (e *encoder) set(name string, v Value) error {
	i := e.find(name)
	if i < 0 || e.parts[i].codec != v.Codec {
		return e.full(name, v.Codec, v.Data)
	}
	p := &e.parts[i]
	if p.size <= delta.SegmentCost && len(v.Data) <= delta.SegmentCost {
		if p.known && bytes.Equal(p.data, v.Data) {
			return nil
		}
		if p.known {
			return e.full(name, v.Codec, v.Data)
		}
	}
	old, err := e.value(p)
	if err != nil {
		return err
	}
	if bytes.Equal(old, v.Data) {
		return nil
	}
	prefix, suffix := delta.Common(old, v.Data)
	return e.splice(name, v.Codec, prefix, suffix, v.Data[prefix:len(v.Data)-suffix], v.Data)
}

// splice keeps prefix and suffix bytes of the part around middle. whole is the
// new value if the caller has it.
func (e *encoder) splice(name, codec string, prefix, suffix int, middle, whole []byte) error {
	i := e.find(name)
	if i < 0 || e.parts[i].codec != codec {
		return invalid("part "+name, "cannot be spliced: the parent has no such part of codec %q", codec)
	}
	p := &e.parts[i]
	if prefix < 0 || suffix < 0 || prefix > p.size || suffix > p.size-prefix {
		return invalid("part "+name, "keeps %d and %d bytes of a value of %d", prefix, suffix, p.size)
	}
	size, chain, dead := prefix+len(middle)+suffix, p.chain+1, p.dead+p.size-prefix-suffix
	if delta.Rewrite(size, chain, dead) {
		if whole == nil {
			old, err := e.value(p)
			if err != nil {
				return err
			}
			if whole, err = delta.Apply(bytes.Clone(old), prefix, suffix, middle); err != nil {
				return invalid("part "+name, "%v", err)
			}
		}
		return e.full(name, codec, whole)
	}
	c := partChange{op: partSplice, prefix: prefix, suffix: suffix, middle: e.pieces(middle)}
	c.partRef = partRef{
		name: name, codec: codec, size: size, last: e.seq - p.last, full: e.seq - p.full, chain: chain, dead: dead,
	}
	e.list.changes = append(e.list.changes, c)
	p.size, p.chain, p.dead, p.last = size, chain, dead, e.seq
	switch {
	case whole != nil:
		p.data, p.known = bytes.Clone(whole), true
	case p.known && size <= maxCached:
		// Grows in place: the head owns these bytes and moves with them.
		data, err := delta.Apply(p.data, prefix, suffix, middle)
		if err != nil {
			return invalid("part "+name, "%v", err)
		}
		p.data = data
	default:
		p.data, p.known = nil, false
	}
	return nil
}

func (e *encoder) full(name, codec string, data []byte) error {
	p := partState{name: name, codec: codec, size: len(data), last: e.seq, full: e.seq}
	c := partChange{op: partFull, middle: e.pieces(data)}
	i := e.find(name)
	var old []byte
	if i >= 0 {
		c.last = e.seq - e.parts[i].last
		old = e.parts[i].data
	}
	if len(data) <= maxCached {
		if cap(old) > 4*len(data)+64 {
			old = nil // not worth keeping for so little
		}
		p.data, p.known = append(old[:0], data...), true
	}
	c.partRef = partRef{name: name, codec: codec, size: len(data), last: c.last}
	e.list.changes = append(e.list.changes, c)
	if i >= 0 {
		e.parts[i] = p
	} else {
		e.parts = append(e.parts, p)
	}
	return nil
}

func (e *encoder) drop(name string) {
	i := e.find(name)
	if i < 0 {
		return
	}
	p := e.parts[i]
	e.list.changes = append(e.list.changes, partChange{
		op: partDrop, partRef: partRef{name: name, codec: p.codec, last: e.seq - p.last},
	})
	e.parts = slices.Delete(e.parts, i, i+1)
}

// pieces puts data into the body, except for what a recent step result holds.
func (e *encoder) pieces(data []byte) []piece {
	first := len(e.room)
	if e.base != nil && len(data) >= minRef {
		done := 0
		for _, f := range references(data, e.base.recent) {
			r := &e.base.recent[f.result]
			if f.at > done {
				e.room = append(e.room, piece{n: f.at - done})
				e.body = append(e.body, data[done:f.at]...)
			}
			e.room = append(e.room, piece{n: len(r.data), back: e.seq - r.seq, rec: r.record})
			done = f.at + len(r.data)
		}
		data = data[done:]
	}
	if len(data) > 0 {
		e.room = append(e.room, piece{n: len(data)})
		e.body = append(e.body, data...)
	}
	return e.room[first:len(e.room):len(e.room)]
}

// finish adds the manifest when it is due and returns the new head's state.
func (e *encoder) finish() (manifest uint64, age, size int) {
	for i := range e.parts {
		if !isReserved(e.parts[i].name) {
			size += e.parts[i].size
		}
	}
	e.list.total = len(e.parts)
	if e.base == nil || e.fresh || e.base.age+1 >= manifestEvery {
		for i := range e.parts {
			if p := &e.parts[i]; p.last != e.seq {
				e.list.unchanged = append(e.list.unchanged, p.ref(e.seq))
			}
		}
		return e.seq, 0, size
	}
	e.list.manifest = e.seq - e.base.manifest
	return e.base.manifest, e.base.age + 1, size
}
