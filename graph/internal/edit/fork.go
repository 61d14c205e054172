package edit

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/ledger"
)

// Fork forks a checkpoint and changes the state of the fork. It returns the fork's head.
func (p *Program) Fork(ctx context.Context, c *posthouse.Checkpoint, change func(state any), o *ledger.ForkOptions) (*posthouse.Checkpoint, error) {
	if len(migrate.From(p.Migrations, c.Fingerprint, p.Fingerprint)) > 0 {
		return p.forkMigrated(ctx, c, change, o)
	}
	parts, err := partsOf(p.Schema, c, p.newState(), change)
	if err != nil {
		return nil, err
	}
	o.Patch = state.Overlay(nil, parts)
	o.Parts = slices.Collect(maps.Keys(o.Patch)) // fields that are newer than the source
	return p.Ledger.Fork(ctx, c.ID, o)
}

// forkMigrated forks a checkpoint of another version, and commits the migrated and changed
// state after it.
func (p *Program) forkMigrated(ctx context.Context, c *posthouse.Checkpoint, change func(any), o *ledger.ForkOptions) (*posthouse.Checkpoint, error) {
	t, err := p.Of(ctx, c, false)
	if err != nil {
		return nil, err
	}
	if e := t.Err(true); e != nil {
		return nil, e
	}
	parts, err := partsOf(p.Schema, &posthouse.Checkpoint{Header: c.Header, State: t.State}, p.newState(), change)
	if err != nil {
		return nil, err
	}
	c, err = p.Ledger.Fork(ctx, c.ID, o)
	if err != nil {
		return nil, err
	}
	t.From = c
	t.State = state.Overlay(t.State, parts)
	d, err := t.Draft(ctx)
	if err != nil {
		return nil, err
	}
	d.Thread, d.Branch, d.Head = c.Thread, c.Branch, &c.ID
	d.Checkpoint.By = o.By
	done, err := p.Ledger.Commit(ctx, d)
	if err != nil {
		return nil, err
	}
	return p.Ledger.Get(ctx, done.Checkpoint.ID)
}

// newState returns a pointer to an empty state.
func (p *Program) newState() any { return reflect.New(p.Schema.Type).Interface() }
