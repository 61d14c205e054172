package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/senders"
)

// An edit makes a child of a checkpoint by hand.
type edit struct {
	app      *core
	base     *posthouse.Checkpoint
	opt      UpdateOptions
	live     *state.Live
	state    posthouse.State       // what live was decoded from
	program  posthouse.State       // what goes with it
	migrated bool                  // the state differs from the one on record
	lost     bool                  // the thread's last run did not end
	as       []nodeTask            // what it is made as
	done     []*recorded.Task      // what else counts as completed
	rest     []frontier.Target     // what is still to run
	ends     []topology.Completion // where the update leads
	progress *recorded.Progress    // what tasks have on record; nil if none runs beside others
	frontier frontier.Frontier
}

// A nodeTask names tasks of a frontier: those of a node, or one of them.
type nodeTask struct {
	node string
	task int
}

func (n nodeTask) is(t *frontier.Target, i int) bool {
	return t.Node == n.node && (n.task == 0 || n.task == i+1)
}

// edit begins an update of a checkpoint, made as the node of the options or as several
// others. recorded says that the checkpoint is on record.
func (a *core) edit(ctx context.Context, base *posthouse.Checkpoint, o UpdateOptions, recorded bool, as ...nodeTask) (*edit, error) {
	switch {
	case o.AsNode != "" && o.Goto != "":
		return nil, posthouse.Invalid("Goto", "is given together with AsNode")
	case o.Task != 0 && (o.AsNode == "" || o.AsNode == Start):
		return nil, posthouse.Invalid("Task", "is given without the AsNode that it is a task of")
	case o.AsNode != "" && o.AsNode != Start:
		as = []nodeTask{{o.AsNode, o.Task}}
	}
	for _, n := range as {
		if a.nodes[n.node] == nil {
			return nil, posthouse.Invalid("AsNode", "%q is not a node of graph %q", n.node, a.name)
		}
	}
	latest, lost := false, false
	if recorded {
		info, err := child.ThreadOf(ctx, a.ledger, &base.Header)
		if err != nil {
			return nil, err
		}
		latest, lost = child.OnHead(info, base, ""), info.Lease.Held
	}
	t, err := a.version().Of(ctx, base, latest)
	if err != nil {
		return nil, err
	}
	if e := t.Err(false); e != nil {
		return nil, e
	}
	e := &edit{app: a, base: base, opt: o, as: as, state: t.State, program: t.Program, frontier: t.Frontier, lost: lost, migrated: len(t.Used) > 0}
	if err := e.decode(); err != nil {
		return nil, err
	}
	if o.Goto != "" || o.AsNode == Start {
		return e, nil
	}
	if recorded {
		if err = e.readProgress(ctx, latest); err != nil {
			return nil, err
		}
	}
	if err := e.sortTasks(); err != nil {
		return nil, err
	}
	return e, e.mergeRecorded()
}

// readProgress reads what tasks that run beside others have on record, and which of them
// completed. latest says that the base is its branch's head.
func (e *edit) readProgress(ctx context.Context, latest bool) (err error) {
	if e.frontier.IsAlone() {
		return nil
	}
	p := &recorded.Progress{Head: &e.base.Header, Latest: latest, By: e.app.fingerprint}
	if p.All, err = e.app.ledger.Core().Executions(ctx, &e.base.Header); err != nil {
		return err
	}
	e.progress = p
	e.done, err = p.Tasks(e.app.Schema, &e.frontier)
	return err
}

func (e *edit) decode() (err error) {
	e.live, err = state.Decode(e.app.Schema, &posthouse.Checkpoint{Header: e.base.Header, State: e.state})
	return err
}

// sortTasks sorts the tasks that were to run into completed and still to run. It leaves
// out those that the update is made as. Tasks that are still to run keep their executions.
func (e *edit) sortTasks() error {
	found := make([]bool, len(e.as))
	is := func(i int) (any bool) {
		for j, n := range e.as {
			if n.is(&e.frontier.Tasks[i], i) {
				any, found[j] = true, true
			}
		}
		return any
	}
	isDone := map[int]bool{}
	e.done = slices.DeleteFunc(e.done, func(d *recorded.Task) bool { isDone[d.Index] = !is(d.Index); return is(d.Index) })
	for i, t := range e.frontier.Tasks {
		if !is(i) && !isDone[i] {
			if e.progress != nil {
				t.Key = e.progress.Began(&e.frontier, i)
			}
			t.Was = ""
			e.rest = append(e.rest, t)
		}
	}
	for j, n := range e.as {
		if n.task != 0 && !found[j] {
			return posthouse.Invalid("Task", "%d is not a task of node %q that is to run at checkpoint %s", n.task, n.node, e.base.ID)
		}
	}
	if len(e.as) > 0 && !slices.Contains(found, true) { // the thread was elsewhere: it goes on only where the nodes lead
		e.done, e.rest = nil, nil
	}
	return nil
}

func (e *edit) mergeRecorded() error {
	if len(e.done) == 0 {
		return nil
	}
	all := make([]*outcome, len(e.done))
	for i := range e.done {
		d := e.done[i]
		all[i] = &outcome{task: &task{Target: &d.Target, node: e.app.nodes[d.Node]}, writes: d.Writes}
		if all[i].task.node == nil {
			all[i].task.node = &node{Node: topology.Node{Name: d.Node}} // gone since: what it wrote stays
		}
	}
	err := e.merge(all, nil)
	if !errors.Is(err, posthouse.ErrConflict) {
		return err
	}
	for _, d := range e.done { // what cannot be merged runs again
		if x := e.progress.Execution(&e.frontier, d.Index); x.HasActed() {
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Field: d.Node, Err: err,
				Message: "completed and has an effect or an approval on record, and what it wrote does not merge with what others wrote",
				Hint:    "give the parts a rule to merge them, or name where the thread goes on (UpdateOptions.Goto), which leaves the step",
			}
		}
		d.Key, d.Was = "", ""
		e.rest = append(e.rest, d.Target)
	}
	e.done = nil
	return e.decode()
}

// left returns the open gates of threads that were called by tasks which do not go on,
// where others do.
func (e *edit) left() []posthouse.ID {
	if e.progress == nil || !e.goesOn() {
		return nil
	}
	var on []string
	for i := range e.rest {
		on = append(on, e.rest[i].Key)
	}
	return e.progress.Left(on)
}

// merge merges what tasks wrote into the state to go on from.
func (e *edit) merge(all []*outcome, names []string) error {
	if err := merge(e.live, all, names); err != nil {
		return err
	}
	if _, err := e.live.Delta(); err != nil {
		return err
	}
	return e.live.Detach()
}

// addEnd notes where a node that made the update leads from a state.
func (e *edit) addEnd(node string, s any) error {
	n := e.app.nodes[node]
	next, err := e.app.route(n.Name, n.transitions, n.opt.Targets, &Command{}, s)
	e.ends = append(e.ends, topology.Completion{Of: &n.Self[0], Next: next})
	return err
}

// next returns what is to run after the update.
func (e *edit) next() (g frontier.Frontier, err error) {
	a, o, s := e.app, &e.opt, e.live.Value
	switch {
	case e.keepsPlace():
		return e.frontier, nil
	case o.Goto != "":
		next, ok := a.To[a.Real(o.Goto)]
		if !ok || len(next) == 1 && a.nodes[next[0].Node].Input != nil {
			return frontier.Frontier{}, posthouse.Invalid("Goto", "%q is not a node of graph %q that runs without an input", o.Goto, a.name)
		}
		return frontier.Frontier{Tasks: next}, nil
	case o.AsNode == Start:
		next, err := a.route(Start, a.start, nil, &Command{}, s)
		if err == nil {
			err = a.AdvanceFrontier(&frontier.Frontier{}, &g, []topology.Completion{{Next: next}})
		}
		return g, err
	case len(e.as) == 1:
		if err := e.addEnd(e.as[0].node, s); err != nil {
			return frontier.Frontier{}, err
		}
	}
	if len(e.done)+len(e.ends) == 0 {
		return frontier.Frontier{Tasks: e.rest, Arrived: e.frontier.Arrived, Deferred: e.frontier.Deferred}, nil
	}
	var ends []topology.Completion
	for i := range e.done {
		ends = append(ends, topology.TaskCompletion(&e.done[i].Target, e.done[i].Next))
	}
	ends = append(ends, e.ends...)
	if len(e.rest) > 0 {
		ends = append(ends, topology.Completion{Next: e.rest})
	}
	err = a.AdvanceFrontier(&frontier.Frontier{Arrived: e.frontier.Arrived, Deferred: e.frontier.Deferred}, &g, ends)
	return g, err
}

// keepsPlace reports whether the thread stays in the middle of its step, with what
// executions of it have on record.
func (e *edit) keepsPlace() bool {
	return e.opt.AsNode == "" && e.opt.Goto == "" && len(e.as)+len(e.done) == 0
}

// goesOn reports whether tasks of the step go on in the middle of their executions, beside
// those that the update leads to.
func (e *edit) goesOn() bool {
	return !e.keepsPlace() && slices.ContainsFunc(e.rest, func(t frontier.Target) bool { return t.Key != "" })
}

func (e *edit) change(by string) (*posthouse.Change, error) {
	a := e.app
	g, err := e.next()
	if err != nil {
		return nil, err
	}
	if g.Epoch = e.frontier.Epoch; e.lost && !e.keepsPlace() {
		g.Epoch = e.base.Step + 1 + uint64(e.frontier.Skipped)
	}
	if e.goesOn() { // the others are of the next step, which has no checkpoint of its own
		g.Skipped = e.frontier.Skipped + 1
	}
	if bad := a.FrontierMisfits(&g); len(bad) > 0 {
		return nil, a.version().Refuse(e.base, bad)
	}
	c := &posthouse.Change{
		Parent: e.base.ID, Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted,
		Graph: a.name, Fingerprint: a.fingerprint, Labels: e.opt.Labels, Skipped: e.frontier.Skipped, By: by, Next: a.NextNames(&g),
		Node: migrate.Nodes(a.migrationsFrom(e.base.Fingerprint), e.base.Node),
	}
	if len(e.as) > 0 {
		c.Node = frontier.JoinNames(frontier.MapNames(e.as, func(n nodeTask) string { return n.node }))
	}
	if len(c.Next) == 0 {
		c.Status = posthouse.StatusDone
	}
	if c.SameStep = e.keepsPlace() || e.goesOn(); c.SameStep {
		c.Skipped = 0
	}
	if c.Program, _, err = g.Change(frontier.PlanPart, e.base.Program[frontier.PlanPart].Data); err != nil {
		return nil, err
	}
	on := &g // the tasks that go on where they stand in subgraphs
	if !e.keepsPlace() {
		on = &frontier.Frontier{Tasks: e.rest}
	}
	c.Program = append(c.Program, subparts.Change(e.base.Program, subparts.WithoutOrphans(e.program, on))...)
	if e.progress != nil && len(e.done) > 0 {
		if c.Requesters, err = senders.Of(e.progress.All); err != nil {
			return nil, err
		}
	}
	for _, d := range e.done {
		c.Program = state.JoinParts(c.Program, d.Program)
	}
	e.frontier = g
	if c.Parts, err = a.Schema.Write(e.live.Value, e.state); err != nil || !e.migrated {
		return c, err
	}
	c.State, c.Parts = state.Overlay(e.state, c.Parts), nil
	return c, nil
}
