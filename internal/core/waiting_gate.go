package core

import "github.com/posthouse/posthouse"

// WaitingGate reads a gate that waits. It keeps the entry, which may hold many gates
// that are decided one by one.
func (tx *Tx) WaitingGate(w *posthouse.WaitingGate) (*posthouse.Gate, error) {
	r := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name)
	if e := tx.Thread.lastGateEntry; e != nil && e.Seq == w.Seq {
		r.Have[e.Seq] = e
	}
	g, err := r.WaitingGate(w)
	if e := r.Have[w.Seq]; err == nil && e != nil && e.HasBodies && e.Bytes() <= maxCached {
		tx.Thread.lastGateEntry = e
	}
	return g, err
}
