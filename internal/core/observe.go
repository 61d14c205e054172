package core

import (
	"github.com/posthouse/posthouse"
)

// Observe calls the observer, if there is one. Arguments are the observer's own.
func (l *Core) Observe(op posthouse.Operation) {
	if l.Config.Observer == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.Config.Logger.Error("an observer panicked", "operation", op.Kind, "thread", op.Thread, "panic", p)
		}
	}()
	l.Config.Observer(op)
}

// ObserveCheckpoint is observe of a checkpoint that was saved, loaded or forked.
func (l *Core) ObserveCheckpoint(kind posthouse.OperationKind, h *posthouse.Header) {
	if l.Config.Observer == nil {
		return
	}
	op := posthouse.Operation{Kind: kind, At: h.CreatedAt, Thread: h.Thread, Coordination: h.Coordination, ID: h.ID, Header: h.Clone()}
	if kind == posthouse.OpForked {
		op.Source = op.Header.Source
	}
	l.Observe(op)
}

// ObserveDecided is observe of a gate with its decision, of a thread of the given
// coordination.
func (l *Core) ObserveDecided(g *posthouse.Gate, coordination string) {
	if l.Config.Observer == nil {
		return
	}
	l.Observe(posthouse.Operation{Kind: posthouse.OpDecided, At: g.Decision.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.Clone()})
}

func (l *Core) ObserveVoted(g *posthouse.Gate, vote *posthouse.Decision, coordination string) {
	if l.Config.Observer == nil {
		return
	}
	l.Observe(posthouse.Operation{Kind: posthouse.OpVoted, At: vote.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.Clone(), Vote: vote.Clone()})
}

func (l *Core) ObserveSignalled(s *posthouse.Signal, coordination string) {
	if l.Config.Observer == nil {
		return
	}
	l.Observe(posthouse.Operation{Kind: posthouse.OpSignalled, At: s.At, Thread: s.Thread, Coordination: coordination, ID: s.ID, Signal: s.Clone()})
}

func (l *Core) ObserveReleased(r *posthouse.Release, coordination string) {
	if l.Config.Observer == nil {
		return
	}
	l.Observe(posthouse.Operation{Kind: posthouse.OpReleased, At: r.At, Thread: r.Thread, Coordination: coordination, Release: r.Clone(), Count: r.Checkpoints})
}
