package edit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// A NodeUpdate is a change of a state, as if a node had made it: see graph.NodeUpdate.
type NodeUpdate struct {
	Node   string
	Task   int
	Change func(state any) // may be nil
}

// UpdateSteps changes the state of a checkpoint in several steps, each with a checkpoint after
// the one before it. It works out all before it puts the first on record, and returns the last.
func (p *Program) UpdateSteps(ctx context.Context, base *posthouse.Checkpoint, steps [][]NodeUpdate, o Options) (posthouse.ID, error) {
	changes := make([]*posthouse.Change, len(steps))
	var left []posthouse.ID
	at := base
	for i, us := range steps {
		u, err := p.step(ctx, at, us, &o, i == 0)
		if err == nil {
			changes[i], err = u.change(o.By)
		}
		if err == nil {
			at, err = u.checkpointOf(changes[i])
		}
		if err != nil {
			return "", fmt.Errorf("posthouse: step %d of the update: %w", i+1, err)
		}
		left = append(left, u.left()...)
	}
	return child.CommitAll(ctx, p.Ledger, base, changes, left, o.NewBranch)
}

// step makes the update of one step. onRecord says that its base is on record.
func (p *Program) step(ctx context.Context, base *posthouse.Checkpoint, us []NodeUpdate, all *Options, onRecord bool) (*update, error) {
	opt := Options{Labels: all.Labels}
	as := make([]taskName, len(us))
	for i, one := range us {
		if one.Node == "" {
			return nil, posthouse.Invalid("Node", "is missing: name the node that made the update; checkpoint %s goes on at %q", base.ID, base.Next)
		}
		as[i] = taskName{one.Node, one.Task}
	}
	switch len(us) {
	case 0:
		return nil, posthouse.Invalid("step", "has no update")
	case 1:
		opt.AsNode, opt.Task, as = us[0].Node, us[0].Task, nil
	}
	u, err := p.begin(ctx, base, opt, onRecord, as...)
	switch {
	case err != nil:
		return nil, err
	case len(us) > 1:
		err = u.mergeUpdates(us)
	default:
		err = apply(us[0].Change, u.live.Value)
	}
	return u, err
}

// mergeUpdates makes several updates, each on a state of its own, and merges them.
func (u *update) mergeUpdates(us []NodeUpdate) error {
	wrote := make([]state.Result, len(us))
	for i, one := range us {
		wrote[i].Task = one.Node
		if one.Task != 0 {
			wrote[i].Task += "#" + strconv.Itoa(one.Task)
		}
		live, err := u.live.Branch()
		if err != nil {
			return err
		}
		if err := apply(one.Change, live.Value); err != nil {
			return err
		}
		wrote[i].Writes, err = live.Writes()
		if err != nil {
			return err
		}
		if err := u.addEnd(one.Node, live.Value); err != nil {
			return err
		}
	}
	return u.merge(wrote)
}

// checkpointOf returns the checkpoint that a change will be.
func (u *update) checkpointOf(c *posthouse.Change) (*posthouse.Checkpoint, error) {
	m := &posthouse.Checkpoint{Header: u.base.Header, State: c.State, Program: state.Overlay(u.base.Program, nil)}
	m.Parent, m.Kind, m.Status, m.Node, m.Next, m.Fingerprint = u.base.ID, c.Kind, c.Status, c.Node, c.Next, c.Fingerprint
	if m.State == nil {
		m.State = state.Overlay(u.state, c.Parts)
	}
	return m, state.ApplyParts(m.Program, c.Program)
}
