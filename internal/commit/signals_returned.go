package commit

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// returnSignals returns the signals of waits that are over although the program was never given
// the signal that answered them: waits that the plan withdraws too late, and those of a step that
// the branch leaves. Another wait of the branch for the name takes such a signal, now or later.
func (c *Commit) returnSignals() error {
	unread, err := c.unreadWaits()
	if err != nil {
		return err
	}
	slices.SortFunc(unread, func(a, b *posthouse.Gate) int { return int(a.Decision.Signal) - int(b.Decision.Signal) })
	for _, g := range unread {
		if err := c.returnSignal(g); err != nil {
			return err
		}
	}
	return nil
}

// leavesStep reports whether the plan's checkpoint ends the unfinished executions of its branch
// although their program has not returned.
func (c *Commit) leavesStep() bool {
	ch := c.plan.Checkpoint
	switch {
	case ch == nil || !c.exists || c.plan.Revise != "":
		return false
	case ch.Kind == posthouse.KindInput, ch.Kind == posthouse.KindRestartStep:
		return true
	}
	return (ch.Kind == posthouse.KindSave && c.plan.ByHand || ch.Kind == posthouse.KindUpdate) && !c.inStep
}

// unreadWaits returns the waits that are over with a signal that the program was not given.
func (c *Commit) unreadWaits() (unread []*posthouse.Gate, err error) {
	tx, p := c.tx, c.plan
	for _, id := range p.Open.Withdraw {
		if slices.ContainsFunc(tx.Thread.Info.Waiting, func(w posthouse.WaitingGate) bool { return w.ID == id }) {
			continue
		}
		g, err := tx.Core.Logs.Gate(tx.Ctx, id)
		if err != nil {
			return nil, err
		}
		if g.Thread == p.Thread && TookSignal(g) {
			unread = append(unread, g)
		}
	}
	if !c.leavesStep() || !slices.ContainsFunc(tx.Thread.Info.Taken, func(k posthouse.SignalTake) bool { return k.Branch == p.Branch }) {
		return unread, nil
	}
	head, err := tx.HeadOf(p.Branch)
	if err != nil {
		return nil, err
	}
	last, err := c.lastOfProgram(&head.Header)
	if err != nil {
		return nil, err
	}
	u, err := tx.Core.Logs.Unfinished(tx.Ctx, &head.Header)
	if err != nil {
		return nil, err
	}
	for _, x := range u.Take() {
		read := last
		for i := range x.Steps {
			read = max(read, x.Steps[i].Seq)
		}
		for _, g := range x.Gates {
			if TookSignal(g) && g.Decision.Seq >= read {
				unread = append(unread, g)
			}
		}
	}
	return unread, nil
}

// TookSignal reports whether a signal answered a wait, which took it.
func TookSignal(g *posthouse.Gate) bool {
	return g.Kind == posthouse.GateSignal && !g.Latch && g.Decision != nil && g.Decision.Verdict == posthouse.Respond && g.Decision.Signal != 0
}

// lastOfProgram returns the entry of the newest checkpoint, from the head on, that the program of
// the branch made itself: it was executed with what was on record before.
func (c *Commit) lastOfProgram(h *posthouse.Header) (uint64, error) {
	for {
		switch h.Kind {
		case posthouse.KindCancel, posthouse.KindUpdate, posthouse.KindSave, posthouse.KindFork, posthouse.KindMigrate, posthouse.KindRestartStep:
		default:
			return h.Seq, nil
		}
		if h.ParentSeq == 0 {
			return 0, nil
		}
		parent, err := c.tx.HeadAt(h.ParentSeq)
		if err != nil {
			return 0, err
		}
		h = &parent.Header
	}
}

// returnSignal returns the signal of a wait. If another wait of the branch for the name stays open
// it takes the signal in the same entry.
func (c *Commit) returnSignal(g *posthouse.Gate) error {
	tx, branch := c.tx, c.plan.Branch
	newest, returned := taken(tx, branch, g.Signal)
	seq := g.Decision.Signal
	if seq < tx.Thread.Info.First || seq > newest || slices.Contains(returned, seq) {
		return nil
	}
	addReturned(tx, branch, g.Signal, seq, g.ID)
	for _, w := range tx.Thread.Info.Waiting {
		late := !w.ExpiresAt.IsZero() && !tx.At.Before(w.ExpiresAt)
		if w.Branch != branch || w.Kind != posthouse.GateSignal || w.Signal != g.Signal || w.Latch || late || decidedIn(tx, w.ID) {
			continue
		}
		s, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).Signal(seq)
		if err != nil {
			return err
		}
		AddTake(tx, branch, g.Signal, seq)
		d := s.Decision(w.ID)
		d.At = posthouse.ToMillis(tx.At)
		AddDecision(tx, d, w.Seq)
		break
	}
	return nil
}

// decidedIn reports whether a transaction decides a gate.
func decidedIn(tx *core.Tx, gate posthouse.ID) bool {
	return slices.ContainsFunc(tx.Records, func(r posthouse.Record) bool { return r.Decision != nil && r.Decision.Gate == gate })
}
