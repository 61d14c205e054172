package core

import (
	"log/slog"

	"github.com/posthouse/posthouse"
)

// An Observing calls the Ledger's observer, which owns what it is passed.
type Observing struct {
	observer posthouse.Observer // may be nil
	logger   *slog.Logger
}

// Operation calls the observer, if there is one. A panic is logged and swallowed.
func (o *Observing) Operation(op posthouse.Operation) {
	if o.observer == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			o.logger.Error("an observer panicked", "operation", op.Kind, "thread", op.Thread, "panic", p)
		}
	}()
	o.observer(op)
}

// Checkpoint reports a checkpoint that was saved, loaded or forked.
func (o *Observing) Checkpoint(kind posthouse.OperationKind, h *posthouse.Header) {
	if o.observer == nil {
		return
	}
	op := posthouse.Operation{Kind: kind, At: h.CreatedAt, Thread: h.Thread, Coordination: h.Coordination, ID: h.ID, Header: h.Clone()}
	if kind == posthouse.OpForked {
		op.Source = op.Header.Source
	}
	o.Operation(op)
}

// Decided reports a gate with its decision.
func (o *Observing) Decided(g *posthouse.Gate, coordination string) {
	if o.observer == nil {
		return
	}
	o.Operation(posthouse.Operation{Kind: posthouse.OpDecided, At: g.Decision.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.Clone()})
}

// Voted reports a vote on a gate.
func (o *Observing) Voted(g *posthouse.Gate, vote *posthouse.Decision, coordination string) {
	if o.observer == nil {
		return
	}
	o.Operation(posthouse.Operation{
		Kind: posthouse.OpVoted, At: vote.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.Clone(), Vote: vote.Clone(),
	})
}

// Signalled reports a signal.
func (o *Observing) Signalled(s *posthouse.Signal, coordination string) {
	if o.observer == nil {
		return
	}
	o.Operation(posthouse.Operation{Kind: posthouse.OpSignalled, At: s.At, Thread: s.Thread, Coordination: coordination, ID: s.ID, Signal: s.Clone()})
}

// Released reports a release.
func (o *Observing) Released(r *posthouse.Release, coordination string) {
	if o.observer == nil {
		return
	}
	o.Operation(posthouse.Operation{
		Kind: posthouse.OpReleased, At: r.At, Thread: r.Thread, Coordination: coordination, Release: r.Clone(), Count: r.Checkpoints,
	})
}
