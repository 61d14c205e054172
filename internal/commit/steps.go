package commit

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// recordSteps adds the results of steps. Without a checkpoint in the same entry, the
// branch's next one may refer to them.
func (c *Commit) recordSteps() error {
	tx, p := c.tx, c.plan
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Effect == posthouse.EffectExternal && s.Grant == "" && c.rules.RequireGrants && !p.Copy && kindOf(p.Checkpoint) != posthouse.KindFork {
			return posthouse.NeedsGrant(s.Name)
		}
		if n := len(s.Value.Data); n > tx.Core.Config.MaxState {
			return posthouse.OverMaxState("step "+s.Name, n, tx.Core.Config.MaxState)
		}
		took, attempts := story.Told(&s.Story)
		rec := tx.Add(posthouse.Record{Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{
			Task: s.Task, Name: s.Name, Occurrence: s.Occurrence, Branch: p.Branch, Codec: s.Value.Codec, Effect: s.Effect, Grant: s.Grant, Unordered: s.Unordered,
			Took: took, Attempts: attempts,
		}}, slices.Clone(s.Value.Data))
		if err := c.tell(&s.Story); err != nil {
			return err
		}
		if p.Checkpoint == nil && len(s.Value.Data) >= threadlog.MinRef {
			tx.Recents = append(tx.Recents, threadlog.Result{Seq: tx.Seq, Record: rec, Data: tx.Bodies[rec]})
		}
	}
	if len(tx.Recents) > 0 {
		_, err := tx.HeadOf(p.Branch)
		return err
	}
	return nil
}

// tell adds the notes on the record that was added last.
func (c *Commit) tell(s *posthouse.Story) error {
	body, err := story.Encode(s)
	if err != nil || body == nil {
		return err
	}
	c.tx.Add(posthouse.Record{Kind: posthouse.RecordNote, Note: &posthouse.NoteInfo{Branch: c.plan.Branch, Line: story.Line(s.Notes) != ""}}, body)
	return nil
}

// recordAgain adds which failures of tasks a fork does not inherit. A forked thread begins without them.
func (c *Commit) recordAgain() error {
	for _, g := range c.plan.Again {
		if !c.plan.Checkpoint.Root {
			c.tx.Add(posthouse.Record{Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{
				Task: g.Task, Name: threadlog.TaskAgain(g.Name, g.Occurrence), Branch: c.plan.Branch, Codec: posthouse.JSON.Name(),
			}}, nil)
		}
	}
	return nil
}
