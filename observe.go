package posthouse

// observe calls the observer, if there is one. Arguments are the observer's own.
func (l *Core) observe(op Operation) {
	if l.opt.Observer == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.opt.Logger.Error("an observer panicked", "operation", op.Kind, "thread", op.Thread, "panic", p)
		}
	}()
	l.opt.Observer(op)
}

// observeCheckpoint is observe of a checkpoint that was saved, loaded or forked.
func (l *Core) observeCheckpoint(kind OperationKind, h *Header) {
	if l.opt.Observer == nil {
		return
	}
	op := Operation{Kind: kind, At: h.CreatedAt, Thread: h.Thread, Coordination: h.Coordination, ID: h.ID, Header: h.clone()}
	if kind == OpForked {
		op.Source = op.Header.Source
	}
	l.observe(op)
}

// observeDecided is observe of a gate with its decision, of a thread of the given
// coordination.
func (l *Core) observeDecided(g *Gate, coordination string) {
	if l.opt.Observer == nil {
		return
	}
	l.observe(Operation{Kind: OpDecided, At: g.Decision.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.clone()})
}

func (l *Core) observeVoted(g *Gate, vote *Decision, coordination string) {
	if l.opt.Observer == nil {
		return
	}
	l.observe(Operation{Kind: OpVoted, At: vote.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.clone(), Vote: vote.clone()})
}

func (l *Core) observeSignalled(s *Signal, coordination string) {
	if l.opt.Observer == nil {
		return
	}
	l.observe(Operation{Kind: OpSignalled, At: s.At, Thread: s.Thread, Coordination: coordination, ID: s.ID, Signal: s.clone()})
}

func (l *Core) observeReleased(r *Release) {
	if l.opt.Observer == nil {
		return
	}
	l.observe(Operation{Kind: OpReleased, At: r.At, Thread: r.Thread, Coordination: r.coordination, Release: r.clone(), Count: r.Checkpoints})
}
