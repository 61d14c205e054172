package posthouse

import (
	"cmp"
	"errors"
	"slices"
)

// openGates adds the gates that the plan takes along, those that were decided as
// they were asked, and those that are to be open.
func (c *Commit) openGates() error {
	tx, p := c.tx, c.plan
	for _, g := range p.Inherit {
		again := *g
		again.ID, again.Origin = "", cmp.Or(g.Origin, g.ID)
		opened, err := tx.gate(p, again)
		if err != nil {
			return err
		}
		dec := *g.Decision
		dec.Gate, dec.Shown, dec.Signal, dec.Trail = opened.ID, Hash{}, 0, 0 // what they name is another entry
		tx.decision(&dec, tx.seq)
	}
	for i := range p.Decided {
		if err := c.addDecided(&p.Decided[i]); err != nil {
			return err
		}
	}
	for i := range p.Gates {
		asked := *p.Gates[i].clone()
		if asked.ID == "" {
			asked.ID = c.successors[asked.Supersedes] // "" where it supersedes none that is open
		}
		if !p.Copy && p.Checkpoint.kind() != KindFork { // those were opened before
			if err := tx.l.MayOpen(&asked); err != nil {
				return err
			}
		}
		g, err := tx.gate(p, asked)
		if err != nil {
			return err
		}
		if s := c.answered[i]; s != nil {
			g.Decision = s.decision(g.ID)
			g.Decision.At = toMillis(tx.at)
			tx.decision(g.Decision, tx.seq)
		}
		c.made.Gates = append(c.made.Gates, g)
	}
	return nil
}

// addDecided adds a gate together with its decision.
func (c *Commit) addDecided(asked *Gate) error {
	tx := c.tx
	g, err := tx.gate(c.plan, *asked.clone())
	if err != nil {
		return err
	}
	dec := *asked.Decision
	dec.Gate, dec.At, dec.Shown, dec.Signal, dec.Trail, dec.Successor = g.ID, toMillis(tx.at), Hash{}, 0, 0, ""
	tx.decision(&dec, tx.seq)
	g.Decision = &dec
	c.made.Decided = append(c.made.Decided, g)
	return nil
}

// anyAnswered reports whether a gate that the plan opens has its signal already,
// or one that it keeps was decided since the caller looked: its branch is then
// ready, or nobody would be told.
func (c *Commit) anyAnswered() (bool, error) {
	if len(c.answered) > 0 {
		return true, nil
	}
	for _, id := range c.plan.Keep {
		if slices.ContainsFunc(c.tx.t.info.Waiting, func(w WaitingGate) bool { return w.ID == id }) {
			continue
		}
		g, err := c.tx.l.Gate(c.tx.ctx, id)
		if err == nil && g.Decision != nil {
			return true, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}
