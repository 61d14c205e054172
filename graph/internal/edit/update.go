package edit

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
)

// An update makes a child of a checkpoint by hand.
type update struct {
	of       *Program
	base     *posthouse.Checkpoint
	opt      Options
	live     *state.Live
	state    posthouse.State       // what live was decoded from
	program  posthouse.State       // what goes with it
	migrated bool                  // the state differs from the one on record
	lost     bool                  // the thread's last run did not end
	as       []taskName            // what it is made as
	done     []*recorded.Task      // what else counts as completed
	rest     []frontier.Target     // what is still to run
	ends     []topology.Completion // where the update leads
	progress *recorded.Progress    // the records of tasks; nil if no tasks run in parallel
	frontier frontier.Frontier
}

// A taskName names tasks of a frontier: those of a node, or one of them.
type taskName struct {
	node string
	task int // counted from 1; 0: all
}

func (n taskName) is(t *frontier.Target, i int) bool {
	return t.Node == n.node && (n.task == 0 || n.task == i+1)
}

// begin begins an update of a checkpoint, made as the node of the options or as several
// others. onRecord says that the checkpoint is on record.
func (p *Program) begin(ctx context.Context, base *posthouse.Checkpoint, o Options, onRecord bool, as ...taskName) (*update, error) {
	switch {
	case o.AsNode != "" && o.Goto != "":
		return nil, posthouse.Invalid("Goto", "is given together with AsNode")
	case o.Task != 0 && (o.AsNode == "" || o.AsNode == topology.Start):
		return nil, posthouse.Invalid("Task", "is given without the AsNode that it is a task of")
	case o.AsNode != "" && o.AsNode != topology.Start:
		as = []taskName{{o.AsNode, o.Task}}
	}
	for _, n := range as {
		if p.Nodes[n.node] == nil {
			return nil, posthouse.Invalid("AsNode", "%q is not a node of graph %q", n.node, p.Title)
		}
	}
	latest, lost := false, false
	if onRecord {
		info, err := child.ThreadOf(ctx, p.Ledger, &base.Header)
		if err != nil {
			return nil, err
		}
		latest, lost = child.OnHead(info, base, ""), info.Lease.Held
	}
	t, err := p.Of(ctx, base, latest)
	if err != nil {
		return nil, err
	}
	if e := t.Err(false); e != nil {
		return nil, e
	}
	u := &update{of: p, base: base, opt: o, as: as, state: t.State, program: t.Program, frontier: t.Frontier, lost: lost, migrated: len(t.Used) > 0}
	if err := u.decode(); err != nil {
		return nil, err
	}
	if o.Goto != "" || o.AsNode == topology.Start {
		return u, nil
	}
	if onRecord {
		if err := u.readProgress(ctx, latest); err != nil {
			return nil, err
		}
	}
	if err := u.sortTasks(); err != nil {
		return nil, err
	}
	return u, u.mergeRecorded()
}

func (u *update) decode() (err error) {
	u.live, err = state.Decode(u.of.Schema, &posthouse.Checkpoint{Header: u.base.Header, State: u.state})
	return err
}

// readProgress reads what tasks that run beside others have on record, and which of them
// completed. latest says that the base is its branch's head.
func (u *update) readProgress(ctx context.Context, latest bool) (err error) {
	if u.frontier.IsAlone() {
		return nil
	}
	p := &recorded.Progress{Head: &u.base.Header, Latest: latest, By: u.of.Fingerprint}
	p.All, err = u.of.Ledger.Core().Executions(ctx, &u.base.Header)
	if err != nil {
		return err
	}
	u.progress = p
	u.done, err = p.Tasks(u.of.Schema, &u.frontier)
	return err
}

// sortTasks sorts the tasks that were to run into completed and still to run. It leaves
// out those that the update is made as. Tasks that are still to run keep their executions.
func (u *update) sortTasks() error {
	found := make([]bool, len(u.as))
	is := func(i int) (any bool) {
		for j, n := range u.as {
			if n.is(&u.frontier.Tasks[i], i) {
				any, found[j] = true, true
			}
		}
		return any
	}
	isDone := map[int]bool{}
	u.done = slices.DeleteFunc(u.done, func(d *recorded.Task) bool { isDone[d.Index] = !is(d.Index); return is(d.Index) })
	for i, t := range u.frontier.Tasks {
		if !is(i) && !isDone[i] {
			if u.progress != nil {
				t.Key = u.progress.Began(&u.frontier, i)
			}
			t.Was = ""
			u.rest = append(u.rest, t)
		}
	}
	for j, n := range u.as {
		if n.task != 0 && !found[j] {
			return posthouse.Invalid("Task", "%d is not a task of node %q that is to run at checkpoint %s", n.task, n.node, u.base.ID)
		}
	}
	if len(u.as) > 0 && !slices.Contains(found, true) { // the thread was elsewhere: it goes on only where the nodes lead
		u.done, u.rest = nil, nil
	}
	return nil
}

// mergeRecorded merges what the completed tasks wrote. If that does not merge, they run again.
func (u *update) mergeRecorded() error {
	if len(u.done) == 0 {
		return nil
	}
	wrote := make([]state.Result, len(u.done))
	for i, d := range u.done {
		wrote[i] = state.Result{Task: d.Node, Empty: d.Input != nil, Writes: d.Writes}
		if d.Input != nil {
			wrote[i].Task += "#" + strconv.Itoa(d.Index+1)
		}
	}
	err := u.merge(wrote)
	if !errors.Is(err, posthouse.ErrConflict) {
		return err
	}
	for _, d := range u.done {
		if x := u.progress.Execution(&u.frontier, d.Index); x.HasActed() {
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Field: d.Node, Err: err,
				Message: "completed and has an effect or an approval on record, and what it wrote does not merge with what others wrote",
				Hint:    "give the parts a rule to merge them, or name where the thread goes on (UpdateOptions.Goto), which leaves the step",
			}
		}
		d.Key, d.Was = "", ""
		u.rest = append(u.rest, d.Target)
	}
	u.done = nil
	return u.decode()
}

// merge merges what tasks wrote into the state to go on from.
func (u *update) merge(wrote []state.Result) error {
	if err := u.live.Merge(wrote); err != nil {
		return err
	}
	if _, err := u.live.Delta(); err != nil {
		return err
	}
	return u.live.Detach()
}

// left returns the open gates of threads that were called by tasks which do not go on,
// where others do.
func (u *update) left() []posthouse.ID {
	if u.progress == nil || !u.goesOn() {
		return nil
	}
	var on []string
	for i := range u.rest {
		on = append(on, u.rest[i].Key)
	}
	return u.progress.Left(on)
}

// keepsPlace reports whether the thread stays in the middle of its step, with what
// executions of it have on record.
func (u *update) keepsPlace() bool {
	return u.opt.AsNode == "" && u.opt.Goto == "" && len(u.as)+len(u.done) == 0
}

// goesOn reports whether tasks of the step go on in the middle of their executions, beside
// those that the update leads to.
func (u *update) goesOn() bool {
	return !u.keepsPlace() && slices.ContainsFunc(u.rest, func(t frontier.Target) bool { return t.Key != "" })
}
