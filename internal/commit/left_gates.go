package commit

import (
	"slices"

	"github.com/posthouse/posthouse"
)

// cancelLeftGates cancels the branch's open gates from before a new checkpoint, unless
// the plan answers or keeps them. It notes gates of called threads that the branch no
// longer waits for.
func (c *Commit) cancelLeftGates() error {
	tx, p := c.tx, c.plan
	ch := p.Checkpoint
	if p.Revise != "" && p.Revise != c.head.Head {
		return nil
	}
	leaves := p.Release != nil || ch.Kind == posthouse.KindInput || (ch.Kind == posthouse.KindSave || ch.Kind == posthouse.KindUpdate) && !c.inStep
	for _, w := range tx.Thread.Info.Waiting {
		successor := c.assignSuccessor(&w)
		switch {
		case w.Branch != p.Branch:
		case successor != "":
			AddDecision(tx, &posthouse.Decision{
				Gate: w.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: superseded, At: tx.At.UTC(), Trail: w.Trail, Successor: successor,
			}, w.Seq)
		case p.Open.keeps(w.ID), w.Kind == posthouse.GateOutcome: // the branch may end: what happened is still to be said
		case p.Open.Answers[w.ID] != nil:
			dec := *p.Open.Answers[w.ID]
			dec.Gate, dec.Shown, dec.Signal, dec.Trail = w.ID, posthouse.Hash{}, 0, w.Trail
			AddDecision(tx, &dec, w.Seq)
		default:
			if later, err := c.takesPlaceOf(&w); later || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			if (leaves || slices.Contains(p.Open.Left, w.ID)) && w.Kind == posthouse.GateThread {
				c.made.Left = append(c.made.Left, w.ID)
			}
			c.withdrawGate(&w)
		}
	}
	return nil
}

// withdrawGates cancels the open gates that a plan without a checkpoint withdraws. A gate that
// was decided since keeps its decision.
func (c *Commit) withdrawGates() error {
	for _, w := range c.tx.Thread.Info.Waiting {
		if w.Branch == c.plan.Branch && c.plan.Open.withdraws(w.ID) && w.Kind != posthouse.GateOutcome {
			c.withdrawGate(&w)
		}
	}
	return nil
}

func (c *Commit) withdrawGate(w *posthouse.WaitingGate) {
	AddDecision(c.tx, &posthouse.Decision{
		Gate: w.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: c.plan.why(w.ID), At: c.tx.At.UTC(), Trail: w.Trail,
	}, w.Seq)
}

// assignSuccessor returns the plan's gate that supersedes an open one, or "". A gate without an
// id gets one.
func (c *Commit) assignSuccessor(w *posthouse.WaitingGate) posthouse.ID {
	for i := range c.plan.Gates {
		g := &c.plan.Gates[i]
		if g.Supersedes != w.ID {
			continue
		}
		id := g.ID
		if id == "" {
			id = posthouse.GatePrefix + c.tx.Core.NewID()
		}
		if c.successors == nil {
			c.successors = map[posthouse.ID]posthouse.ID{}
		}
		c.successors[w.ID] = id
		return id
	}
	return ""
}
