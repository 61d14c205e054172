package posthouse

import "slices"

// leaveGates cancels the branch's open gates that a new checkpoint leaves behind,
// but for those whose answers it brings. It notes those of threads that nobody will
// come back to.
func (c *Commit) leaveGates() error {
	tx, p := c.tx, c.plan
	ch := p.Checkpoint
	if ch == nil || p.Revise != "" && p.Revise != c.head.Head {
		return nil
	}
	leaves := p.Release != nil || ch.Kind == KindInput || ch.Kind == KindSave || ch.Kind == KindUpdate && !ch.SameStep
	for _, w := range tx.t.info.Waiting {
		successor := c.successor(&w)
		switch {
		case w.Branch != p.Branch:
		case successor != "":
			tx.decision(&Decision{
				Gate: w.ID, Verdict: Cancel, By: byLedger, Reason: superseded, At: tx.at.UTC(), Trail: w.Trail, Successor: successor,
			}, w.Seq)
		case !slices.Contains(p.Withdraw, w.ID) && (p.KeepOpen || slices.Contains(p.Keep, w.ID)):
		case p.Answers[w.ID] != nil:
			dec := *p.Answers[w.ID]
			dec.Gate, dec.Shown, dec.Signal, dec.Trail = w.ID, Hash{}, 0, w.Trail
			tx.decision(&dec, w.Seq)
		default:
			if leaves && w.Kind == GateThread {
				c.made.Left = append(c.made.Left, w.ID)
			}
			tx.decision(&Decision{
				Gate: w.ID, Verdict: Cancel, By: byLedger, Reason: "the branch went on without it", At: tx.at.UTC(), Trail: w.Trail,
			}, w.Seq)
		}
	}
	return nil
}

// successor returns the id of the draft's gate that asks in place of an open one,
// "" if none does.
func (c *Commit) successor(w *WaitingGate) ID {
	for i := range c.plan.Gates {
		g := &c.plan.Gates[i]
		if g.Supersedes != w.ID {
			continue
		}
		id := g.ID
		if id == "" {
			id = gatePrefix + c.tx.l.NewID()
		}
		if c.successors == nil {
			c.successors = map[ID]ID{}
		}
		c.successors[w.ID] = id
		return id
	}
	return ""
}
