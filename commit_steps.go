package posthouse

import "slices"

// recordSteps adds the results of steps. Without a checkpoint in the same entry the
// branch's next one may refer to them.
func (c *Commit) recordSteps() error {
	tx, p := c.tx, c.plan
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Effect == EffectExternal && s.Grant == "" && tx.l.opt.RequireGrants && !p.Copy && p.Checkpoint.kind() != KindFork {
			return NeedsGrant(s.Name)
		}
		if n := len(s.Value.Data); n > tx.l.opt.MaxState {
			return tooLarge("step "+s.Name, n, tx.l.opt.MaxState)
		}
		rec := tx.add(Record{Kind: RecordStep, Step: &StepInfo{
			Task: s.Task, Name: s.Name, Occurrence: s.Occurrence, Branch: p.Branch, Codec: s.Value.Codec, Effect: s.Effect, Grant: s.Grant, Loose: s.Loose,
		}}, slices.Clone(s.Value.Data))
		if p.Checkpoint == nil && len(s.Value.Data) >= minRef {
			tx.recents = append(tx.recents, recent{tx.seq, rec, tx.bodies[rec]})
		}
	}
	if len(tx.recents) > 0 {
		_, err := tx.l.headOf(tx.ctx, tx.t, p.Branch)
		return err
	}
	return nil
}
