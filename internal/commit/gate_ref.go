package commit

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A GateRef says where a gate is. Its thread and its question, where they are known, spare reads.
type GateRef struct {
	Gate   posthouse.ID
	Thread string          // or empty
	asked  *posthouse.Gate // or nil; not to be changed
}

// RefOf returns the reference to a gate that was read.
func RefOf(g *posthouse.Gate) GateRef { return GateRef{g.ID, g.Thread, g} }

// waiting reads a gate that waits.
func (p *GateRef) waiting(tx *core.Tx, w *posthouse.WaitingGate) (*posthouse.Gate, error) {
	if g := p.asked; g != nil && g.Seq == w.Seq && g.Thread == tx.Thread.Name && w.Trail == 0 {
		return g.Clone(), nil
	}
	return tx.WaitingGate(w)
}
