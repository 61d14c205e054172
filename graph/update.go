package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/edit"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
)

// UpdateOptions say what is updated and where the thread goes on. The zero
// value updates the head of main and leaves the next node as it is.
type UpdateOptions struct {
	Branch     string       // the branch to update the head of; default main
	Checkpoint posthouse.ID // or this checkpoint, on a new branch unless it is its branch's head
	NewBranch  string       // the new branch's name; default update-1, update-2, ...; if set, a head, too, gets a new branch

	// AsNode is the node, or Start, that counts as having made the change. The thread
	// goes on where it leads, and with what else was to run.
	AsNode string

	// Task says which task of AsNode completed, if that was sent several inputs: 3 for
	// the key "7/fetch#3". 0: all.
	Task int

	Goto string // the thread goes on at this node, or is done if it is End
	By   string // who updates

	// Labels of the checkpoints that are made, to find and to keep them by. At most 16;
	// keys and values at most 200 bytes.
	Labels map[string]string
}

// Update changes a state by hand. It makes a child of the checkpoint, of kind update,
// and runs nothing: [App.Resume] goes on from it. The checkpoint that was updated does
// not change. Questions that were open at a head are cancelled; its node asks again.
// Unlike a node, the change may do anything to append parts.
//
// Without AsNode and Goto the thread stays in the middle of its step, as it does in a
// fork: steps (step.Do) and answers on record there count, attempts stay counted, a
// retry is due when it was. If the new state leads a node to other steps than those on
// record, the node fails ([posthouse.ErrInvalid]). Goto runs it from its start.
//
// Where several nodes were to run at once, those that completed count: what they wrote
// is in the state that change sees, and they do not run again. Those that did not
// complete go on with what they have on record. All begin again if Goto or Start leaves
// the step. If what was written does not merge, those that completed run again; one that
// has an effect or an approval on record does not: the update is refused
// ([posthouse.ErrConflict]). Update never guesses which node made the change: without
// AsNode the same nodes are next.
//
// Errors: [posthouse.ErrBusy] while the thread is being run,
// [posthouse.ErrConflict] if the branch moved on or the checkpoint is of a
// released version, which [App.Fork] takes up, [posthouse.ErrExists] if NewBranch
// is there already, [posthouse.ErrNotFound].
func (a *App[S]) Update(ctx context.Context, thread string, change func(s *S), o ...UpdateOptions) (*Snapshot[S], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	s, err := a.core.update(ctx, thread, untypedChange(change), &opt)
	return typedSnapshot[S](s), err
}

func (a *core) update(ctx context.Context, thread string, change func(any), opt *UpdateOptions) (*snapshot, error) {
	base, err := a.updateBase(ctx, thread, opt)
	if err != nil {
		return nil, err
	}
	h, err := a.editor().Update(ctx, base, change, opt.edit())
	if err != nil {
		return nil, err
	}
	return a.state(ctx, h.Thread, h.ID)
}

func (a *core) editor() *edit.Program { return &edit.Program{Version: a.version(), Follow: a.follow} }

func (o *UpdateOptions) edit() edit.Options {
	return edit.Options{AsNode: o.AsNode, Goto: o.Goto, Task: o.Task, By: o.By, Labels: o.Labels, NewBranch: o.NewBranch}
}

// A NodeUpdate is one change of [App.BulkUpdate].
type NodeUpdate[S any] struct {
	Node   string     // required: as if this node, or Start, had made it
	Task   int        // as UpdateOptions.Task
	Change func(s *S) // may be nil
}

// BulkUpdate is [App.Update] for several steps at once. Each step makes a checkpoint
// after the one before it. The updates of a step are made side by side, as by nodes
// that run at once. They are merged by the rules of the parts, with the same errors,
// and keep to the rules for nodes. An update with Start is alone in its step. BulkUpdate
// works out all steps before it puts the first on record, and holds the thread until the
// end. It returns the last checkpoint.
func (a *App[S]) BulkUpdate(ctx context.Context, thread string, steps [][]NodeUpdate[S], o ...UpdateOptions) (*Snapshot[S], error) {
	opt, err := engine.Optional(o)
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

// updateBase returns the checkpoint that an update changes.
func (a *core) updateBase(ctx context.Context, thread string, o *UpdateOptions) (*posthouse.Checkpoint, error) {
	if err := checkLabels(o.Labels); err != nil {
		return nil, err
	}
	base, err := front.StateOf(ctx, a.ledger, thread, front.StateOptions{Branch: o.Branch, Checkpoint: o.Checkpoint})
	if err != nil {
		return nil, err
	}
	return base, a.front.Owns(&base.Header)
}

// ForkOptions say where a fork goes. The zero value is a new branch of the
// same thread.
type ForkOptions struct {
	Thread string // a new thread
	Branch string // the new branch's name; default fork-1, fork-2, ...; not with Thread
	By     string // who forks

	// KeepNext keeps the next nodes, and what tasks were sent, as the source's state chose them.
	KeepNext bool
}

// Fork begins a branch, or a thread, at any checkpoint and returns its first
// checkpoint. Source says where that came from. change, if not nil, edits its state.
// Nothing runs until it is resumed. It inherits steps recorded before the fork. Gates
// that were open at the checkpoint are open again under new ids.
//
// It then continues where the source would have. If change changed a part, routes and maps
// choose the next nodes again, from the state of the fork, also in the middle of a step:
// tasks with the same input keep what they have on record, and the others begin. Choices of
// the code of a node (Command), of a person and of another version of the graph stay. So do all
// if KeepNext is set, or if the source no longer exists at the resume.
func (a *App[S]) Fork(ctx context.Context, checkpoint posthouse.ID, change func(s *S), o ...ForkOptions) (*Snapshot[S], error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	s, err := a.core.fork(ctx, checkpoint, untypedChange(change), &opt)
	return typedSnapshot[S](s), err
}

func (a *core) fork(ctx context.Context, checkpoint posthouse.ID, change func(any), opt *ForkOptions) (*snapshot, error) {
	fork := &ledger.ForkOptions{Thread: opt.Thread, Branch: opt.Branch, By: opt.By, KeepNext: opt.KeepNext}
	h, err := a.ledger.GetHeader(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	if err := a.front.Owns(h); err != nil {
		return nil, err
	}
	if change == nil {
		return a.snapshotOf(a.ledger.Fork(ctx, checkpoint, fork))
	}
	c, err := a.ledger.Get(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	return a.snapshotOf(a.editor().Fork(ctx, c, change, fork))
}

func (a *core) snapshotOf(c *posthouse.Checkpoint, err error) (*snapshot, error) {
	if err != nil {
		return nil, err
	}
	return a.newSnapshot(c)
}
