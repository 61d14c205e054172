package ledger

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// SaveOptions refine Save. Nil is the zero value.
type SaveOptions struct {
	Replace bool          // an existing id without children gets a new revision with this content
	Head    *posthouse.ID // the expected head of the branch; see [Draft.Head]
}

// Save commits a checkpoint made by hand, usually by [posthouse.Root] or
// [posthouse.Checkpoint.Derive], and returns it as stored. An empty id is replaced by a
// new one.
//
// A checkpoint with a parent goes to the parent's branch and must derive from its head;
// of two writers on one head the second gets [posthouse.ErrConflict]. With the name of
// a new branch it begins that branch at any parent. A root moves main. Saving an
// existing id with equal content again changes nothing; with other content it is
// [posthouse.ErrExists], unless Replace is set. Otherwise it fails as [Ledger.Commit]
// does.
//
// If a program's step has something on record, the checkpoint stays in the middle of that
// step, as an update does: results, answers and effects under way count when the branch is
// resumed, and questions that were open are asked again. So does a revision, which changes the
// state and not the program's own parts. A root forgets the step, and counts on from the steps
// there were. Requesters stay in any case.
func (l *Ledger) Save(ctx context.Context, c *posthouse.Checkpoint, o *SaveOptions) (*posthouse.Checkpoint, error) {
	if o == nil {
		o = &SaveOptions{}
	}
	if c == nil {
		return nil, posthouse.Invalid("checkpoint", "is nil; posthouse.Root makes one")
	}
	s := &save{l: l, c: c, replace: o.Replace, plan: planOf(c, o.Head)}
	if c.ID == "" {
		return s.commit(ctx)
	}
	for try := 0; ; try++ {
		stored, err := s.existing(ctx)
		if stored != nil || err != nil {
			return stored, err
		}
		stored, err = s.commit(ctx)
		if try > 0 || !errors.Is(err, posthouse.ErrExists) && !errors.Is(err, posthouse.ErrConflict) {
			return stored, err
		}
		// Another caller may have saved the same checkpoint: look again.
	}
}

// A save is a checkpoint made by hand, on its way into the log.
type save struct {
	l       *Ledger
	c       *posthouse.Checkpoint // as it was made
	replace bool
	plan    *commit.Plan
}

// planOf returns what a commit of the checkpoint writes.
func planOf(c *posthouse.Checkpoint, head *posthouse.ID) *commit.Plan {
	ch := &posthouse.Change{
		ID: c.ID, Parent: c.Parent, Root: c.Parent == "", Kind: c.Kind, Status: c.Status, Coordination: c.Coordination,
		Run: c.Run, Graph: c.Graph, Fingerprint: c.Fingerprint, Node: c.Node, Agent: c.Agent, By: c.By, Error: c.Error,
		Next: c.Next, Labels: c.Labels, Source: c.Source, CreatedAt: c.CreatedAt,
		State: c.State, Metadata: c.Metadata,
	}
	if ch.State == nil {
		ch.State = posthouse.State{}
	}
	if ch.Metadata == nil {
		ch.Metadata = map[string]string{}
	}
	return &commit.Plan{
		Thread: cmp.Or(c.Thread, c.Coordination, posthouse.DefaultThread), Branch: cmp.Or(c.Branch, posthouse.MainBranch), Head: head, ByHand: true,
		Checkpoint: ch,
	}
}

// commit commits the plan and returns the checkpoint. Its whole content is in the plan.
func (s *save) commit(ctx context.Context) (*posthouse.Checkpoint, error) {
	p := s.plan
	done, err := s.l.commitPlan(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &posthouse.Checkpoint{Header: *done.Checkpoint, State: p.Checkpoint.State.Clone()}
	if len(p.Checkpoint.Metadata) > 0 {
		c.Metadata = maps.Clone(p.Checkpoint.Metadata)
	}
	return c, nil
}

// existing handles an id that may exist. It returns the stored checkpoint if there
// is nothing to do, and nil, nil if the id is free.
func (s *save) existing(ctx context.Context) (*posthouse.Checkpoint, error) {
	c := s.c
	old, err := s.l.core.ReadCheckpoint(ctx, c.ID)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if sameContent(old, c) {
		return old, nil
	}
	if !s.replace {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExists, Message: "checkpoint " + string(c.ID) + " exists with other content",
			Hint: "history is never rewritten: derive a child, or set SaveOptions.Replace to add a revision",
		}
	}
	return s.revise(ctx, old)
}

func sameContent(old, c *posthouse.Checkpoint) bool {
	unless := func(unset bool, old, new string) bool { return unset || old == new } // the Ledger fills these in
	if !unless(c.Coordination == "", old.Coordination, c.Coordination) || !unless(c.Thread == "", old.Thread, c.Thread) ||
		!unless(c.Kind == "", old.Kind, c.Kind) || !unless(c.Graph == "", old.Graph, c.Graph) {
		return false
	}
	if old.Parent != c.Parent || old.Agent != c.Agent || old.Node != c.Node || old.Status != c.Status || old.Run != c.Run ||
		old.Fingerprint != c.Fingerprint || old.Error != c.Error || !slices.Equal(old.Next, c.Next) {
		return false
	}
	if len(old.State) != len(c.State) || !maps.Equal(old.Metadata, c.Metadata) || !maps.Equal(old.Labels, c.Labels) {
		return false
	}
	for name, v := range c.State {
		o, ok := old.State[name]
		if !ok || o.Codec != v.Codec || string(o.Data) != string(v.Data) {
			return false
		}
	}
	return true
}

// revise appends a new revision of a checkpoint without children. A new
// coordination is only a label; the thread stays.
func (s *save) revise(ctx context.Context, old *posthouse.Checkpoint) (*posthouse.Checkpoint, error) {
	c, p := s.c, s.plan
	if c.Thread != "" && c.Thread != old.Thread {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExists, Message: "checkpoint " + string(old.ID) + " belongs to thread " + old.Thread,
			Hint: "an id stays in its thread; save under a new id, or fork into the other thread",
		}
	}
	if c.Parent != "" && c.Parent != old.Parent {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExists, Message: "checkpoint " + string(old.ID) + " has the parent " + string(old.Parent) + ", not " + string(c.Parent),
			Hint: "a revision keeps its parent; save under a new id",
		}
	}
	p.Thread, p.Branch, p.Revise = old.Thread, old.Branch, old.ID
	var err error
	p.Checkpoint.Program, err = s.programOf(ctx, old)
	if err != nil {
		return nil, err
	}
	return s.commit(ctx)
}

// programOf returns what makes the program's parts of a checkpoint of those of its parent: a
// revision changes the state alone.
func (s *save) programOf(ctx context.Context, c *posthouse.Checkpoint) (parts []posthouse.Part, err error) {
	before := &posthouse.Checkpoint{}
	if c.Parent != "" {
		before, err = s.l.core.ReadCheckpoint(ctx, c.Parent)
		if errors.Is(err, posthouse.ErrNotFound) {
			before, err = &posthouse.Checkpoint{}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	own := func(name string) bool { return posthouse.IsProgramPart(name) && name != posthouse.RequestersPart }
	for _, name := range slices.Sorted(maps.Keys(c.Program)) {
		v, was := c.Program[name], before.Program[name]
		if own(name) && (v.Codec != was.Codec || string(v.Data) != string(was.Data)) {
			parts = append(parts, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Program)) {
		if _, stays := c.Program[name]; own(name) && !stays {
			parts = append(parts, posthouse.Part{Name: name, Drop: true})
		}
	}
	return parts, nil
}
