package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/delta"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// askRules asks the rules whether the entry may be written.
func (c *Commit) askRules() error {
	tx, p := c.tx, c.plan
	proposal := &posthouse.Proposal{Thread: p.Thread, Branch: p.Branch, Change: p.Checkpoint, Steps: p.Steps, Gates: c.made.Gates}
	if tx.Next != nil {
		proposal.Header = tx.Next.Header.Clone()
		proposal.Read = func() (*posthouse.Checkpoint, error) { return proposedCheckpoint(tx, p.Checkpoint) }
		defer func() { proposal.Read = nil }() // the transaction is used again
	}
	for _, r := range c.rules.Checks {
		if err := check(tx.Ctx, tx.Core, &r, proposal); err != nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "rule " + r.Name, Err: err,
				Message: "refuses a commit to branch " + p.Branch + " of thread " + p.Thread, Hint: "nothing was written",
			}
		}
	}
	return nil
}

func check(ctx context.Context, c *core.Core, r *posthouse.Rule, p *posthouse.Proposal) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.Config.Logger.Error("a rule panicked", "rule", r.Name, "thread", p.Thread, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return r.Check(ctx, p)
}

// proposedCheckpoint assembles the checkpoint that is about to be written.
func proposedCheckpoint(tx *core.Tx, c *posthouse.Change) (*posthouse.Checkpoint, error) {
	b := &threadlog.Rebuilt{Header: *tx.Next.Header.Clone(), State: posthouse.State{}}
	for i := range tx.Next.Parts {
		p := &tx.Next.Parts[i]
		if !p.Known {
			return derivedCheckpoint(tx, c)
		}
		b.State[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
	}
	return b.Checkpoint()
}

// derivedCheckpoint does so for a state that is too large to keep in memory.
func derivedCheckpoint(tx *core.Tx, c *posthouse.Change) (*posthouse.Checkpoint, error) {
	out := &posthouse.Checkpoint{Header: *tx.Next.Header.Clone(), State: posthouse.State{}}
	if seq := out.ParentSeq; seq != 0 {
		b, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).Rebuild(seq)
		if err != nil {
			return nil, err
		}
		base, err := b.Checkpoint()
		if err != nil {
			return nil, err
		}
		out.State, out.Program, out.Metadata = base.State, base.Program, base.Metadata
	}
	if c.Metadata != nil {
		out.Metadata = maps.Clone(c.Metadata)
	}
	if c.State != nil {
		out.State = c.State.Clone()
	}
	if out.Program == nil && len(c.Program) > 0 {
		out.Program = posthouse.State{}
	}
	return out, errors.Join(applyParts(out.State, c.Parts), applyParts(out.Program, c.Program))
}

func applyParts(s posthouse.State, parts []posthouse.Part) error {
	for _, p := range parts {
		switch {
		case p.Drop:
			delete(s, p.Name)
		case p.Splice:
			data, err := delta.Apply(s[p.Name].Data, p.Prefix, p.Suffix, p.Data)
			if err != nil {
				return posthouse.Invalid("part "+p.Name, "%v", err)
			}
			s[p.Name] = posthouse.Value{Codec: cmp.Or(p.Codec, "json"), Data: data}
		default:
			s[p.Name] = posthouse.Value{Codec: cmp.Or(p.Codec, "json"), Data: slices.Clone(p.Data)}
		}
	}
	return nil
}
