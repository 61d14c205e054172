package commit

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/story"
)

// base returns what the new checkpoint is encoded against, or nil. For a new revision
// it also returns the newest revision.
func (c *Commit) base() (base *core.Head, old *posthouse.Header, err error) {
	tx, p := c.tx, c.plan
	if p.Revise == "" {
		base, err = c.parent()
		return base, nil, err
	}
	old, orphan, err := revised(tx, p.Revise)
	if err == nil && old.ParentSeq != 0 {
		base, err = tx.HeadAt(old.ParentSeq)
	}
	if err == nil && orphan {
		base.Parts = nil // their bodies may be gone: write all in full, with a new manifest
	}
	return base, old, err
}

// parent returns the checkpoint that the new one changes.
func (c *Commit) parent() (*core.Head, error) {
	tx, p, ch, bh, exists := c.tx, c.plan, c.plan.Checkpoint, c.head, c.exists
	switch {
	case ch.Root || !exists && ch.Parent == "":
		if !ch.Root && p.Branch != posthouse.MainBranch {
			return nil, &posthouse.Error{
				Code: posthouse.CodeNotFound, Message: "thread " + p.Thread + " has no branch " + p.Branch,
				Hint: "name the parent to begin a branch, or fork",
			}
		}
		return nil, nil
	case ch.Parent == "" || ch.Parent == bh.Head && exists:
		return tx.HeadOf(p.Branch)
	case exists:
		return nil, &posthouse.Error{
			Code: posthouse.CodeConflict, Head: bh.Head, Tail: &tx.Thread.Info.Tail,
			Message: "checkpoint " + string(ch.Parent) + " is not the head of branch " + p.Branch + "; " + string(bh.Head) + " is",
			Hint:    "derive from the head, or fork the older checkpoint into a branch of its own",
		}
	}
	ref, err := tx.Core.Store.Find(tx.Ctx, ch.Parent)
	if err != nil {
		return nil, err
	}
	if ref.Thread != p.Thread {
		return nil, posthouse.Invalid("parent", "%s belongs to thread %q, not %q; fork it into this thread", ch.Parent, ref.Thread, p.Thread)
	}
	if ref.Seq < tx.Thread.Info.First {
		return nil, core.ReleasedError(posthouse.CodeConflict, ch.Parent, p.Thread)
	}
	return tx.HeadAt(ref.Seq)
}

// addCheckpoint adds the checkpoint's record and makes it the branch's head.
func (c *Commit) addCheckpoint() error {
	tx, p, ch := c.tx, c.plan, c.plan.Checkpoint
	base, old, err := c.base()
	if err != nil {
		return err
	}
	e := tx.BeginCheckpoint(base, !c.exists || old != nil && base != nil && len(base.Parts) == 0)
	e.Read = p.Read
	if err := c.findAnswers(); err != nil {
		return err
	}
	next := tx.NewHead()
	h := &next.Header
	c.fillHeader(h, base)
	if h.Status == posthouse.StatusWaiting && !p.Copy {
		answered, err := c.anyAnswered()
		if err != nil {
			return err
		}
		if answered {
			h.Status = posthouse.StatusReady
		}
	}
	if old != nil {
		h.ID, h.Order, h.Revision, h.Step = old.ID, old.Order, old.Revision+1, old.Step // names of executions go by the step
	} else {
		if base != nil {
			tx.Core.IDs.Follow(base.Order, tx.At)
		}
		tx.Identify(h)
	}
	encoded, carried := ch, (*posthouse.Part)(nil)
	if !p.Copy {
		encoded, carried = withoutRequesters(ch)
	}
	begins := base != nil && !c.exists || old != nil || c.replacesHead() // what others may have asked for
	asked := !p.Copy && (begins || carried != nil || len(ch.Requesters)+len(p.behalf) > 0 || c.asksFor())
	var before []posthouse.Requester
	if asked {
		before, err = c.knownBefore(old, base)
		if err != nil {
			return err
		}
	}
	if err := e.Change(encoded, p.Recorded); err != nil {
		return err
	}
	if asked {
		if err := c.noteRequesters(before, carried); err != nil {
			return err
		}
	}
	if err := c.noteTaken(base); err != nil {
		return err
	}
	if err := tx.Finish(next, e, ch.Status); err != nil || ch.Story.Error == "" && len(ch.Story.Notes) == 0 {
		return err
	}
	return c.tell(&ch.Story)
}

// fillHeader makes h the header of the checkpoint that is made of base, without id and
// order key.
func (cm *Commit) fillHeader(h *posthouse.Header, base *core.Head) {
	p, c := cm.plan, cm.plan.Checkpoint
	*h = posthouse.Header{
		ID: c.ID, Thread: p.Thread, Branch: p.Branch, Coordination: c.Coordination, Kind: c.Kind, Status: c.Status,
		Run: c.Run, Graph: c.Graph, Fingerprint: c.Fingerprint, Node: c.Node, Agent: c.Agent, By: c.By, Error: c.Error,
		Labels: maps.Clone(c.Labels), CreatedAt: c.CreatedAt.UTC(),
	}
	h.Took, h.Attempts = story.Told(&c.Story)
	if base != nil && slices.Equal(base.Next, c.Next) {
		h.Next = base.Next // it is never changed
	} else {
		h.Next = slices.Clone(c.Next)
	}
	if c.Source != nil {
		s := *c.Source
		h.Source = &s
	}
	if c.CreatedAt.IsZero() {
		h.CreatedAt = c.CreatedAt
	}
	h.Step = p.Step
	if base == nil && c.Kind == posthouse.KindNode && !p.Copy {
		h.Step = 1 // a thread that begins with a finished step
	}
	if base == nil {
		h.Step = max(h.Step, cm.rootStep)
	}
	if base != nil {
		h.Parent, h.ParentSeq = base.ID, base.Seq
		if !p.Copy {
			h.Step = base.Step + uint64(c.Skipped)
			if !cm.inStep {
				h.Step += posthouse.StepOf(c.Kind)
			}
		}
		h.Coordination = cmp.Or(h.Coordination, base.Coordination)
		h.Graph = cmp.Or(h.Graph, base.Graph)
	}
}
