package threadlog

import "github.com/posthouse/posthouse"

// ManifestEvery is the distance, in checkpoints, between full lists of parts.
const ManifestEvery = 32

// MinRef is the shortest step result that a part may refer to, in bytes.
const MinRef = 64

// A PartState is one part at a branch's head. Sequence numbers are absolute.
type PartState struct {
	Name, Codec string
	Size        int
	Last, Full  uint64
	Chain, Dead int
	Data        []byte // the value, if known; nil for not known
	Known       bool
}

// Ref returns the part as a manifest in an entry lists it.
func (p *PartState) Ref(seq uint64) posthouse.PartRef {
	return posthouse.PartRef{
		Name: p.Name, Codec: p.Codec, Size: p.Size, Last: seq - p.Last, Full: seq - p.Full,
		Chain: p.Chain, Dead: p.Dead,
	}
}

// A Result is a step result that the next checkpoint's state may contain.
type Result struct {
	Seq    uint64
	Record int
	Data   []byte
}
