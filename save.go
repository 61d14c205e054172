package posthouse

import (
	"context"
	"errors"
	"maps"
)

// SaveOptions refine Save. Nil is the zero value.
type SaveOptions struct {
	Replace bool // an id that exists, without children, gets a new revision with this content
	Head    *ID  // the branch's head must be this; see [Draft.Head]
}

// Save commits a checkpoint made by hand, usually by [Root] or
// [Checkpoint.Derive], and returns it as stored. An empty id gets a new one.
//
// A checkpoint with a parent goes to the parent's branch and must derive from
// its head ([ErrConflict] otherwise: two writers on one head, one wins); with
// the name of a new branch it begins that branch at any parent. A root moves
// main. Saving an existing id with equal content again changes nothing; with
// other content it is [ErrExists] unless Replace says otherwise.
func (l *Ledger) Save(ctx context.Context, c *Checkpoint, o *SaveOptions) (*Checkpoint, error) {
	if o == nil {
		o = &SaveOptions{}
	}
	d := &Draft{Thread: firstOf(c.Thread, c.Coordination, DefaultThread), Branch: firstOf(c.Branch, MainBranch), Head: o.Head}
	ch := &Change{
		ID: c.ID, Parent: c.Parent, Root: c.Parent == "", Kind: c.Kind, Status: c.Status, Coordination: c.Coordination,
		Run: c.Run, Graph: c.Graph, Fingerprint: c.Fingerprint, Node: c.Node, Agent: c.Agent, By: c.By, Error: c.Error,
		Next: c.Next, Labels: c.Labels, Source: c.Source, CreatedAt: c.CreatedAt,
		State: c.State, Metadata: c.Metadata,
	}
	if ch.State == nil {
		ch.State = State{}
	}
	if ch.Metadata == nil {
		ch.Metadata = map[string]string{}
	}
	d.Checkpoint = ch
	if c.ID != "" {
		stored, err := l.resave(ctx, d, c, o)
		if stored != nil || err != nil {
			return stored, err
		}
	}
	done, err := l.Commit(ctx, d)
	if err != nil {
		return nil, err
	}
	return &Checkpoint{Header: *done.Checkpoint, State: c.State.Clone(), Metadata: maps.Clone(c.Metadata)}, nil
}

// resave handles an id that may exist: it returns the stored checkpoint if
// there is nothing to do, and nil, nil if the id is free.
func (l *Ledger) resave(ctx context.Context, d *Draft, c *Checkpoint, o *SaveOptions) (*Checkpoint, error) {
	old, err := l.get(ctx, c.ID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if sameContent(old, c) {
		return old, nil
	}
	if !o.Replace {
		return nil, &Error{
			Code: CodeExists, Message: "checkpoint " + string(c.ID) + " exists with other content",
			Hint: "history is never rewritten: derive a child, or set SaveOptions.Replace to add a revision",
		}
	}
	return l.replace(ctx, d, c, old)
}

func sameContent(old, c *Checkpoint) bool {
	if len(old.State) != len(c.State) || !maps.Equal(old.Metadata, c.Metadata) ||
		old.Parent != c.Parent || old.Agent != c.Agent || old.Node != c.Node || old.Status != c.Status ||
		c.Coordination != "" && old.Coordination != c.Coordination || c.Thread != "" && old.Thread != c.Thread {
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

// replace appends a new revision of a checkpoint that has no children. A new
// coordination is a new label; the thread stays.
func (l *Ledger) replace(ctx context.Context, d *Draft, c, old *Checkpoint) (*Checkpoint, error) {
	if c.Thread != "" && c.Thread != old.Thread {
		return nil, &Error{
			Code: CodeExists, Message: "checkpoint " + string(old.ID) + " belongs to thread " + old.Thread,
			Hint: "an id stays in its thread; save under a new id, or fork into the other thread",
		}
	}
	tree, err := l.tree(ctx, old.Thread)
	if err != nil {
		return nil, err
	}
	if n := len(tree.children[old.Seq]); n > 0 {
		return nil, &Error{
			Code: CodeExists, Message: "checkpoint " + string(old.ID) + " has " + itoa(n) + " children and cannot be replaced",
			Hint: "fork it with the new state instead",
		}
	}
	d.Thread, d.Branch, d.revise = old.Thread, old.Branch, &old.Header
	if _, err := l.Commit(ctx, d); err != nil {
		return nil, err
	}
	return l.get(ctx, old.ID)
}
