package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse"
)

// A Difference says how the state of checkpoint B differs from that of A.
type Difference struct {
	A     posthouse.ID `json:"a"`
	B     posthouse.ID `json:"b"`
	Parts []PartChange `json:"parts" doc:"those that differ, by name"`
}

// A PartChange is a part of a state that differs.
type PartChange struct {
	Name   string    `json:"name"`
	Change string    `json:"change"` // "added", "removed" or "changed"
	A      *PartSide `json:"a,omitempty"`
	B      *PartSide `json:"b,omitempty"`
}

// A PartSide is a part as one of the two checkpoints has it. Value is set for
// JSON of at most 64 KiB.
type PartSide struct {
	Codec string          `json:"codec"`
	Size  int             `json:"size"` // bytes
	Value json.RawMessage `json:"value,omitempty"`
}

const maxDiffValue = 64 << 10

// Diff compares two states part by part.
func Diff(a, b *posthouse.Checkpoint) *Difference {
	names := maps.Clone(a.State)
	if names == nil {
		names = posthouse.State{}
	}
	maps.Copy(names, b.State)
	d := &Difference{A: a.ID, B: b.ID, Parts: []PartChange{}}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, inA := a.State[name]
		vb, inB := b.State[name]
		switch {
		case !inA:
			d.Parts = append(d.Parts, PartChange{Name: name, Change: "added", B: side(vb)})
		case !inB:
			d.Parts = append(d.Parts, PartChange{Name: name, Change: "removed", A: side(va)})
		case va.Codec != vb.Codec || !bytes.Equal(va.Data, vb.Data):
			d.Parts = append(d.Parts, PartChange{Name: name, Change: "changed", A: side(va), B: side(vb)})
		}
	}
	return d
}

func side(v posthouse.Value) *PartSide {
	s := &PartSide{Codec: v.Codec, Size: len(v.Data)}
	if raw, plain := showValue(v); plain && len(raw) <= maxDiffValue {
		s.Value = raw
	}
	return s
}

func (s *Server) diff(w http.ResponseWriter, r *request) error {
	var cs [2]*posthouse.Checkpoint
	for i, name := range []string{"a", "b"} {
		if !r.has(name) {
			return invalid(name, "is required: a checkpoint's id")
		}
		c, err := s.ledger.Get(r.Context(), posthouse.ID(r.query[name]))
		if err != nil {
			return err
		}
		cs[i] = c
	}
	return writeJSON(w, http.StatusOK, Diff(cs[0], cs[1]))
}
