package commit

import (
	"cmp"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
)

// openGates adds the gates that a fork inherits, those decided as they are asked, and
// those that open.
func (c *Commit) openGates() error {
	tx, p := c.tx, c.plan
	for _, g := range p.Inherit {
		again := *g
		again.ID, again.Origin = "", cmp.Or(g.Origin, g.ID)
		opened, err := AddGate(tx, p, again)
		if err != nil {
			return err
		}
		dec := *g.Decision
		dec.Gate, dec.Shown, dec.Signal, dec.Trail = opened.ID, posthouse.Hash{}, 0, 0 // what they name is another entry
		AddDecision(tx, &dec, tx.Seq)
	}
	for i := range p.Decided {
		if err := c.addDecided(&p.Decided[i]); err != nil {
			return err
		}
	}
	for i := range p.Gates {
		asked := *p.Gates[i].Clone()
		if asked.ID == "" {
			asked.ID = c.successors[asked.Supersedes] // "" if it supersedes no open gate
		}
		if !p.Copy && kindOf(p.Checkpoint) != posthouse.KindFork { // those were opened before
			if err := c.rules.mayOpen(&asked, p.schemaError); err != nil {
				return err
			}
		}
		g, err := AddGate(tx, p, asked)
		if err != nil {
			return err
		}
		if s := c.answered[i]; s != nil {
			g.Decision = s.Decision(g.ID)
			g.Decision.At = posthouse.ToMillis(tx.At)
			AddDecision(tx, g.Decision, tx.Seq)
		}
		c.made.Gates = append(c.made.Gates, g)
	}
	return nil
}

func (c *Commit) addDecided(asked *posthouse.Gate) error {
	tx := c.tx
	g, err := AddGate(tx, c.plan, *asked.Clone())
	if err != nil {
		return err
	}
	dec := *asked.Decision
	dec.Gate, dec.At, dec.Shown, dec.Signal, dec.Trail, dec.Successor = g.ID, posthouse.ToMillis(tx.At), posthouse.Hash{}, 0, 0, ""
	AddDecision(tx, &dec, tx.Seq)
	g.Decision = &dec
	c.made.Decided = append(c.made.Decided, g)
	return nil
}

// anyAnswered reports whether a gate that the plan opens has its signal already, or one
// that it keeps was decided since. The branch is then ready; no later record would wake
// it.
func (c *Commit) anyAnswered() (bool, error) {
	if len(c.answered) > 0 {
		return true, nil
	}
	for _, id := range c.plan.Open.Keep {
		if slices.ContainsFunc(c.tx.Thread.Info.Waiting, func(w posthouse.WaitingGate) bool { return w.ID == id }) {
			continue
		}
		g, err := c.tx.Core.Logs.Gate(c.tx.Ctx, id)
		if err == nil && g.Decision != nil {
			return true, nil
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}
