package threadlog

import (
	"bytes"
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/delta"
)

// A Rebuilt is a checkpoint read back from the log.
type Rebuilt struct {
	Header   posthouse.Header
	State    posthouse.State // with [posthouse.MetaPart]
	Parts    []PartState
	Manifest uint64
	Age      int
}

// Rebuild reads the checkpoint at seq with its state.
func (r *Reader) Rebuild(seq uint64) (*Rebuilt, error) {
	b, err := r.Locate(seq)
	if err != nil {
		return nil, err
	}
	b.State = make(posthouse.State, len(b.Parts))
	for i := range b.Parts {
		p := &b.Parts[i]
		data, ok := r.Known[p.Name]
		if !ok {
			data, err = r.value(p)
			if err != nil {
				return nil, err
			}
		}
		p.Data, p.Known = data, true
		b.State[p.Name] = posthouse.Value{Codec: p.Codec, Data: data}
	}
	return b, nil
}

// locate finds the parts of the checkpoint at seq in its own header and those of its
// ancestors, back to the newest manifest.
func (r *Reader) Locate(seq uint64) (*Rebuilt, error) {
	e, err := r.Entry(seq, true)
	if err != nil {
		return nil, err
	}
	rec, _, err := e.CheckpointRecord()
	if err != nil {
		return nil, err
	}
	b := &Rebuilt{Header: *rec.Checkpoint, Manifest: seq - rec.Parts.Manifest}
	live := 0
	for _, c := range rec.Parts.Changes {
		if c.Op != posthouse.PartDrop {
			live++
		}
	}
	complete := live == rec.Parts.Total
	if n := rec.Parts.Manifest; n > 1 && n <= 16*ManifestEvery && !complete {
		if err := r.Fetch(posthouse.Range{From: seq - n, To: seq - 1, Headers: true}); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for {
		at := e.Seq
		for _, c := range rec.Parts.Changes {
			if !seen[c.Name] {
				seen[c.Name] = true
				if c.Op != posthouse.PartDrop {
					p := state(&c.PartRef, at)
					p.Last = at
					b.Parts = append(b.Parts, p)
				}
			}
		}
		for _, u := range rec.Parts.Unchanged {
			if !seen[u.Name] {
				seen[u.Name] = true
				b.Parts = append(b.Parts, state(&u, at))
			}
		}
		if rec.Parts.Manifest == 0 {
			return b, nil
		}
		b.Age++
		if complete {
			b.Age = ManifestEvery // not counted: the next one brings a manifest
			return b, nil
		}
		parent := rec.Checkpoint.ParentSeq
		if parent == 0 || parent >= at {
			return nil, posthouse.Corrupt("checkpoint %s at entry %d of thread %q has no ancestor with a manifest", b.Header.ID, at, r.Thread)
		}
		e, err = r.Entry(parent, false)
		if err != nil {
			return nil, err
		}
		rec, _, err = e.CheckpointRecord()
		if err != nil {
			return nil, err
		}
	}
}

func state(p *posthouse.PartRef, seq uint64) PartState {
	return PartState{
		Name: p.Name, Codec: p.Codec, Size: p.Size, Last: seq - p.Last, Full: seq - p.Full,
		Chain: p.Chain, Dead: p.Dead,
	}
}

// maxGrowth bounds the memory allocated at once for splices: a header may claim any
// size.
const maxGrowth = 1 << 20

// value rebuilds one part from its newest full value and the splices since.
func (r *Reader) value(p *PartState) ([]byte, error) {
	if span := p.Last - p.Full; p.Chain > 4 && span <= uint64(16*p.Chain) {
		if r.Have[p.Full] == nil || !r.Have[p.Full].HasBodies {
			if err := r.Fetch(posthouse.Range{From: p.Full, To: p.Last}); err != nil {
				return nil, err
			}
		}
	}
	var changes []*posthouse.PartChange
	var at []*ReadEntry
	for seq, i := p.Last, 0; ; i++ {
		c, e, err := r.change(seq, p.Name)
		if err != nil {
			return nil, err
		}
		changes, at = append(changes, c), append(at, e)
		if c.Op == posthouse.PartFull {
			break
		}
		if c.Op == posthouse.PartDrop || c.Last == 0 || c.Last > seq || i > p.Chain {
			return nil, posthouse.Corrupt("part %q at entry %d of thread %q has a broken chain", p.Name, seq, r.Thread)
		}
		seq -= c.Last
	}
	var data []byte
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		middle, err := r.middle(at[i], c)
		if err != nil {
			return nil, err
		}
		if c.Op == posthouse.PartFull {
			data = append(make([]byte, 0, min(p.Size, len(middle)+maxGrowth)), middle...)
		} else {
			data, err = delta.Apply(data, c.Prefix, c.Suffix, middle)
			if err != nil {
				return nil, posthouse.Corrupt("part %q at entry %d of thread %q: %v", p.Name, at[i].Seq, r.Thread, err)
			}
		}
		if len(data) != c.Size {
			return nil, posthouse.Corrupt("part %q at entry %d of thread %q has %d bytes instead of %d", p.Name, at[i].Seq, r.Thread, len(data), c.Size)
		}
	}
	return data, nil
}

func (r *Reader) change(seq uint64, part string) (*posthouse.PartChange, *ReadEntry, error) {
	e, err := r.Entry(seq, true)
	if err != nil {
		return nil, nil, err
	}
	rec, _, err := e.CheckpointRecord()
	if err != nil {
		return nil, nil, err
	}
	for i := range rec.Parts.Changes {
		if rec.Parts.Changes[i].Name == part {
			return &rec.Parts.Changes[i], e, nil
		}
	}
	return nil, nil, posthouse.Corrupt("entry %d of thread %q does not change part %q", seq, r.Thread, part)
}

// middle joins a change's pieces, from its own body and from the step results it refers
// to.
func (r *Reader) middle(e *ReadEntry, c *posthouse.PartChange) ([]byte, error) {
	rec, idx, err := e.CheckpointRecord()
	if err != nil {
		return nil, err
	}
	off := 0 // of this change's inline bytes in the body
	for i := range rec.Parts.Changes {
		if &rec.Parts.Changes[i] == c {
			break
		}
		for _, p := range rec.Parts.Changes[i].Middle {
			if p.Back == 0 {
				off += p.N
			}
		}
	}
	var out []byte
	for _, p := range c.Middle {
		from, src := off, e
		rec := idx
		if p.Back != 0 {
			if p.Back >= e.Seq {
				return nil, posthouse.Corrupt("entry %d of thread %q refers to before its log", e.Seq, r.Thread)
			}
			src, err = r.Entry(e.Seq-p.Back, true)
			if err != nil {
				return nil, err
			}
			from, rec = p.Off, p.Rec
		} else {
			off += p.N
		}
		if rec >= len(src.Bodies) || from+p.N > len(src.Bodies[rec]) {
			return nil, posthouse.Corrupt("the body of record %d of entry %d of thread %q is gone or too short", rec, src.Seq, r.Thread)
		}
		if len(c.Middle) == 1 {
			return src.Bodies[rec][from : from+p.N], nil
		}
		out = append(out, src.Bodies[rec][from:from+p.N]...)
	}
	return out, nil
}

// Checkpoint returns the public form, with the metadata apart from the state.
func (b *Rebuilt) Checkpoint() (*posthouse.Checkpoint, error) {
	c := &posthouse.Checkpoint{Header: b.Header, State: make(posthouse.State, len(b.State))}
	for name, v := range b.State {
		if name == posthouse.MetaPart {
			m, err := posthouse.Decode[map[string]string](v)
			if err != nil {
				return nil, posthouse.Corrupt("the metadata of checkpoint %s does not decode: %v", b.Header.ID, err)
			}
			c.Metadata = m
			continue
		}
		own := posthouse.Value{Codec: v.Codec, Data: bytes.Clone(v.Data)}
		if !posthouse.IsReserved(name) {
			c.State[name] = own
			continue
		}
		if c.Program == nil {
			c.Program = posthouse.State{}
		}
		c.Program[name] = own
	}
	return c, nil
}
