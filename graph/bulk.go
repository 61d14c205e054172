package graph

import (
	"context"
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
)

// A NodeUpdate is one change of [App.BulkUpdate].
type NodeUpdate[S any] struct {
	Node   string     // required: as if this node, or Start, had made it
	Task   int        // as UpdateOptions.Task
	Change func(s *S) // nil: none
}

// BulkUpdate is [App.Update] for several steps at once. Each step makes a checkpoint
// after the one before it. The updates of a step are made side by side, as by nodes
// that run at once. They are merged by the rules of the parts, with the same errors,
// and keep to the rules for nodes. An update with Start is alone in its step. BulkUpdate
// works out all steps before it puts the first on record, and nobody else runs the
// thread meanwhile. It returns the last checkpoint.
func (a *App[S]) BulkUpdate(ctx context.Context, thread string, steps [][]NodeUpdate[S], o ...UpdateOptions) (*Snapshot[S], error) {
	opt, err := engine.One(o)
	if err != nil {
		return nil, err
	}
	all := make([][]nodeUpdate, len(steps))
	for i, us := range steps {
		for _, u := range us {
			all[i] = append(all[i], nodeUpdate{nodeTask{u.Node, u.Task}, untypedChange(u.Change)})
		}
	}
	s, err := a.core.bulkUpdate(ctx, thread, all, &opt)
	return typedSnapshot[S](s), err
}

// A nodeUpdate is a NodeUpdate without the type of the state.
type nodeUpdate struct {
	nodeTask
	change func(any)
}

func (a *core) bulkUpdate(ctx context.Context, thread string, steps [][]nodeUpdate, opt *UpdateOptions) (*snapshot, error) {
	switch {
	case opt.AsNode != "" || opt.Goto != "" || opt.Task != 0:
		return nil, posthouse.Invalid("options", "name AsNode, Goto or Task: name the node of each update")
	case len(steps) == 0:
		return nil, posthouse.Invalid("steps", "are none")
	}
	base, err := a.updateBase(ctx, thread, opt)
	if err != nil {
		return nil, err
	}
	changes := make([]*posthouse.Change, len(steps))
	var left []posthouse.ID
	at := base
	for i, us := range steps {
		e, err := a.bulkStep(ctx, at, us, opt, i == 0)
		if err == nil {
			changes[i], err = e.change(opt.By)
		}
		if err == nil {
			at, err = e.checkpointOf(changes[i])
		}
		if err != nil {
			return nil, fmt.Errorf("posthouse: step %d of the update: %w", i+1, err)
		}
		left = append(left, e.left()...)
	}
	id, err := child.CommitAll(ctx, a.ledger, base, changes, left, opt.NewBranch)
	if err != nil {
		return nil, err
	}
	return a.state(ctx, base.Thread, id)
}

// bulkStep makes one step's edit of a checkpoint.
func (a *core) bulkStep(ctx context.Context, base *posthouse.Checkpoint, us []nodeUpdate, all *UpdateOptions, recorded bool) (*edit, error) {
	opt := UpdateOptions{Labels: all.Labels}
	as := make([]nodeTask, len(us))
	for i, u := range us {
		if u.node == "" {
			return nil, posthouse.Invalid("Node", "is missing: name the node that made the update; checkpoint %s goes on at %q", base.ID, base.Next)
		}
		as[i] = u.nodeTask
	}
	switch len(us) {
	case 0:
		return nil, posthouse.Invalid("step", "has no update")
	case 1:
		opt.AsNode, opt.Task, as = us[0].node, us[0].task, nil
	}
	e, err := a.edit(ctx, base, opt, recorded, as...)
	switch {
	case err != nil:
		return nil, err
	case len(us) > 1:
		err = e.mergeUpdates(us)
	default:
		err = applyChange(us[0].change, e.live.Value)
	}
	return e, err
}

// mergeUpdates makes several updates, each on a state of its own, and merges them.
func (e *edit) mergeUpdates(us []nodeUpdate) error {
	all, names := make([]*outcome, len(us)), make([]string, len(us))
	for i := range us {
		if names[i] = us[i].node; us[i].task != 0 {
			names[i] += "#" + strconv.Itoa(us[i].task)
		}
		n := e.app.nodes[us[i].node]
		t := &task{Target: &n.Self[0], node: n}
		live, err := branchOf(e.live, e.app.Schema, t)
		if err != nil {
			return err
		}
		if err := applyChange(us[i].change, live.Value); err != nil {
			return err
		}
		all[i] = &outcome{task: t}
		if all[i].writes, err = live.Writes(); err != nil {
			return err
		}
		if err := e.addEnd(n.Name, live.Value); err != nil {
			return err
		}
	}
	return e.merge(all, names)
}

// checkpointOf returns the checkpoint that a change will be.
func (e *edit) checkpointOf(c *posthouse.Change) (*posthouse.Checkpoint, error) {
	m := &posthouse.Checkpoint{Header: e.base.Header, State: c.State, Program: state.Overlay(e.base.Program, nil)}
	m.Parent, m.Kind, m.Status, m.Node, m.Next, m.Fingerprint = e.base.ID, c.Kind, c.Status, c.Node, c.Next, c.Fingerprint
	if m.State == nil {
		m.State = state.Overlay(e.state, c.Parts)
	}
	return m, state.ApplyParts(m.Program, c.Program)
}
