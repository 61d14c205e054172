package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/edit"
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
	all := make([][]edit.NodeUpdate, len(steps))
	for i, us := range steps {
		for _, u := range us {
			all[i] = append(all[i], edit.NodeUpdate{Node: u.Node, Task: u.Task, Change: untypedChange(u.Change)})
		}
	}
	s, err := a.core.bulkUpdate(ctx, thread, all, &opt)
	return typedSnapshot[S](s), err
}

func (a *core) bulkUpdate(ctx context.Context, thread string, steps [][]edit.NodeUpdate, opt *UpdateOptions) (*snapshot, error) {
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
	id, err := a.editor().UpdateSteps(ctx, base, steps, opt.edit())
	if err != nil {
		return nil, err
	}
	return a.state(ctx, base.Thread, id)
}
