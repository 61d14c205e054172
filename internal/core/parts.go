package core

import (
	"bytes"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/delta"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// An Encoder turns the changes of one checkpoint into its part list and body.
type Encoder struct {
	core   *Core
	ctx    context.Context
	thread string
	seq    uint64
	Base   *Head // the parent, nil for a root
	fresh  bool  // the checkpoint begins a branch and needs a manifest

	// Read is what the caller has read of the parent's parts already, or nil.
	Read posthouse.State

	Parts []threadlog.PartState
	list  posthouse.PartList
	body  []byte
	room  []posthouse.Piece // where the pieces of all changes are
}

// clear empties the encoder and keeps its memory.
func (e *Encoder) clear() {
	changes, body, room := emptied(e.list.Changes), e.body[:0], e.room[:0]
	if cap(body) > maxSpare {
		body = nil
	}
	*e = Encoder{list: posthouse.PartList{Changes: changes}, body: body, room: room}
}

// Changed returns the names of the parts that were changed, in any order.
func (e *Encoder) Changed() (names []string) {
	for i := range e.list.Changes {
		names = append(names, e.list.Changes[i].Name)
	}
	return names
}

// Find returns the index of a part in Parts, or -1.
func (e *Encoder) Find(name string) int {
	return slices.IndexFunc(e.Parts, func(p threadlog.PartState) bool { return p.Name == name })
}

// Value returns a part's current bytes, reading them from the store if needed.
func (e *Encoder) Value(p *threadlog.PartState) ([]byte, error) {
	if v, ok := e.Read[p.Name]; ok && !p.Known {
		p.Data, p.Known = bytes.Clone(v.Data), true // the head's own, which grows in place
	}
	if !p.Known {
		s, err := e.core.Logs.Reader(e.ctx, e.thread).Rebuild(e.Base.Seq)
		if err != nil {
			return nil, err
		}
		for i := range e.Parts {
			q := &e.Parts[i]
			if v, ok := s.State[q.Name]; ok && !q.Known && q.Last != e.seq {
				q.Data, q.Known = v.Data, true
			}
		}
	}
	return p.Data, nil
}

// Set makes v a part's value, stored as a splice if that is smaller.
func (e *Encoder) Set(name string, v posthouse.Value) error {
	i := e.Find(name)
	if i < 0 || e.Parts[i].Codec != v.Codec {
		return e.full(name, v.Codec, v.Data)
	}
	p := &e.Parts[i]
	if have, ok := e.Read[name]; ok && p.Last != e.seq && bytes.Equal(have.Data, v.Data) {
		return nil
	}
	if p.Size <= delta.SegmentCost && len(v.Data) <= delta.SegmentCost {
		if p.Known && bytes.Equal(p.Data, v.Data) {
			return nil
		}
		if p.Known {
			return e.full(name, v.Codec, v.Data)
		}
	}
	old, err := e.Value(p)
	if err != nil {
		return err
	}
	if bytes.Equal(old, v.Data) {
		return nil
	}
	prefix, suffix := delta.Common(old, v.Data)
	return e.splice(name, v.Codec, prefix, suffix, v.Data[prefix:len(v.Data)-suffix], v.Data)
}

// splice keeps prefix and suffix bytes of the part around middle. whole is the new
// value if the caller has it.
func (e *Encoder) splice(name, codec string, prefix, suffix int, middle, whole []byte) error {
	i := e.Find(name)
	if i < 0 || e.Parts[i].Codec != codec {
		return posthouse.Invalid("part "+name, "cannot be spliced: the parent has no such part of codec %q", codec)
	}
	p := &e.Parts[i]
	if prefix < 0 || suffix < 0 || prefix > p.Size || suffix > p.Size-prefix {
		return posthouse.Invalid("part "+name, "keeps %d and %d bytes of a value of %d", prefix, suffix, p.Size)
	}
	size, chain, dead := prefix+len(middle)+suffix, p.Chain+1, p.Dead+p.Size-prefix-suffix
	if delta.Rewrite(size, chain, dead) {
		if whole == nil {
			old, err := e.Value(p)
			if err != nil {
				return err
			}
			whole, err = delta.Apply(bytes.Clone(old), prefix, suffix, middle)
			if err != nil {
				return posthouse.Invalid("part "+name, "%v", err)
			}
		}
		return e.full(name, codec, whole)
	}
	c := posthouse.PartChange{Op: posthouse.PartSplice, Prefix: prefix, Suffix: suffix, Middle: e.pieces(middle)}
	c.PartRef = posthouse.PartRef{
		Name: name, Codec: codec, Size: size, Last: e.seq - p.Last, Full: e.seq - p.Full, Chain: chain, Dead: dead,
	}
	e.list.Changes = append(e.list.Changes, c)
	p.Size, p.Chain, p.Dead, p.Last = size, chain, dead, e.seq
	switch {
	case whole != nil:
		p.Data, p.Known = bytes.Clone(whole), true
	case p.Known && size <= maxCached:
		// Appends in place: the head owns these bytes.
		data, err := delta.Apply(p.Data, prefix, suffix, middle)
		if err != nil {
			return posthouse.Invalid("part "+name, "%v", err)
		}
		p.Data = data
	default:
		p.Data, p.Known = nil, false
	}
	return nil
}

func (e *Encoder) full(name, codec string, data []byte) error {
	p := threadlog.PartState{Name: name, Codec: codec, Size: len(data), Last: e.seq, Full: e.seq}
	c := posthouse.PartChange{Op: posthouse.PartFull, Middle: e.pieces(data)}
	i := e.Find(name)
	var old []byte
	if i >= 0 {
		c.Last = e.seq - e.Parts[i].Last
		old = e.Parts[i].Data
	}
	if len(data) <= maxCached {
		if cap(old) > 4*len(data)+64 {
			old = nil // not worth keeping for so little
		}
		p.Data, p.Known = append(old[:0], data...), true
	}
	c.PartRef = posthouse.PartRef{Name: name, Codec: codec, Size: len(data), Last: c.Last}
	e.list.Changes = append(e.list.Changes, c)
	if i >= 0 {
		e.Parts[i] = p
	} else {
		e.Parts = append(e.Parts, p)
	}
	return nil
}

func (e *Encoder) drop(name string) {
	i := e.Find(name)
	if i < 0 {
		return
	}
	p := e.Parts[i]
	e.list.Changes = append(e.list.Changes, posthouse.PartChange{
		Op: posthouse.PartDrop, PartRef: posthouse.PartRef{Name: name, Codec: p.Codec, Last: e.seq - p.Last},
	})
	e.Parts = slices.Delete(e.Parts, i, i+1)
}

// pieces puts data into the body, except what a recent step result holds.
func (e *Encoder) pieces(data []byte) []posthouse.Piece {
	first := len(e.room)
	if e.Base != nil && len(data) >= threadlog.MinRef {
		done := 0
		for _, f := range references(data, e.Base.recent) {
			r := &e.Base.recent[f.result]
			if f.at > done {
				e.room = append(e.room, posthouse.Piece{N: f.at - done})
				e.body = append(e.body, data[done:f.at]...)
			}
			e.room = append(e.room, posthouse.Piece{N: len(r.Data), Back: e.seq - r.Seq, Rec: r.Record})
			done = f.at + len(r.Data)
		}
		data = data[done:]
	}
	if len(data) > 0 {
		e.room = append(e.room, posthouse.Piece{N: len(data)})
		e.body = append(e.body, data...)
	}
	return e.room[first:len(e.room):len(e.room)]
}

// finish adds a due manifest and returns the new head's state.
func (e *Encoder) finish() (manifest uint64, age, size int) {
	for i := range e.Parts {
		if !posthouse.IsReserved(e.Parts[i].Name) {
			size += e.Parts[i].Size
		}
	}
	e.list.Total = len(e.Parts)
	if e.Base == nil || e.fresh || e.Base.age+1 >= threadlog.ManifestEvery {
		for i := range e.Parts {
			if p := &e.Parts[i]; p.Last != e.seq {
				e.list.Unchanged = append(e.list.Unchanged, p.Ref(e.seq))
			}
		}
		return e.seq, 0, size
	}
	e.list.Manifest = e.seq - e.Base.manifest
	return e.Base.manifest, e.Base.age + 1, size
}
