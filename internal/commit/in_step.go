package commit

import (
	"github.com/posthouse/posthouse"
)

// findStep finds out what a checkpoint that is saved by hand does to the step of a program's
// branch. After the head it stays in the middle of the step, if something of that is on record.
// A root counts on from the steps that the branch has had. Executions are named after steps, so
// no name is used again when people decide again.
func (c *Commit) findStep() error {
	p, ch := c.plan, c.plan.Checkpoint
	if ch.Kind != posthouse.KindSave || p.Revise != "" || !c.exists || !ch.Root && ch.Parent != "" && ch.Parent != c.head.Head {
		return nil
	}
	head, err := c.tx.HeadOf(p.Branch)
	if err != nil || head.Graph == "" || !ch.Root && posthouse.IsOver(head.Status) {
		return err
	}
	begun, err := c.tx.Core.Logs.Begun(c.tx.Ctx, &head.Header)
	if err != nil {
		return err
	}
	if ch.Root {
		c.rootStep = begun.Last + 1
		return nil
	}
	c.inStep = begun.Any
	return nil
}
