package edit

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/senders"
)

// change returns the update as what a draft commits.
func (u *update) change(by string) (*posthouse.Change, error) {
	p := u.of
	g, err := u.next()
	if err != nil {
		return nil, err
	}
	g.Epoch = u.frontier.Epoch
	if u.lost && !u.keepsPlace() {
		g.Epoch = u.base.Step + 1 + uint64(u.frontier.Skipped)
	}
	if u.goesOn() { // the others are of the next step, which has no checkpoint of its own
		g.Skipped = u.frontier.Skipped + 1
	}
	if bad := p.FrontierMisfits(&g); len(bad) > 0 {
		return nil, p.Refuse(u.base, bad)
	}
	c := &posthouse.Change{
		Parent: u.base.ID, Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted,
		Graph: p.Title, Fingerprint: p.Fingerprint, Labels: u.opt.Labels, Skipped: u.frontier.Skipped, By: by, Next: p.NextNames(&g),
		Node: migrate.Nodes(migrate.From(p.Migrations, u.base.Fingerprint, p.Fingerprint), u.base.Node),
	}
	if len(u.as) > 0 {
		c.Node = frontier.JoinNames(frontier.MapNames(u.as, func(n taskName) string { return n.node }))
	}
	if len(c.Next) == 0 {
		c.Status = posthouse.StatusDone
	}
	c.MidStep = u.keepsPlace() || u.goesOn()
	if c.MidStep {
		c.Skipped = 0
	}
	if err := u.addProgram(c, &g); err != nil {
		return nil, err
	}
	u.frontier = g
	c.Parts, err = p.Schema.Write(u.live.Value, u.state)
	if err != nil || !u.migrated {
		return c, err
	}
	c.State, c.Parts = state.Overlay(u.state, c.Parts), nil
	return c, nil
}

// addProgram adds to the change what it does to the program's parts: the plan, what subgraphs
// keep, and what completed tasks left. They bring along who made requests of them.
func (u *update) addProgram(c *posthouse.Change, next *frontier.Frontier) (err error) {
	c.Program, _, err = next.Change(frontier.PlanPart, u.base.Program[frontier.PlanPart].Data)
	if err != nil {
		return err
	}
	on := next // the tasks that go on where they stand in subgraphs
	if !u.keepsPlace() {
		on = &frontier.Frontier{Tasks: u.rest}
	}
	c.Program = append(c.Program, subparts.Change(u.base.Program, subparts.WithoutOrphans(u.program, on))...)
	if u.progress != nil && len(u.done) > 0 {
		c.Requesters, err = senders.Of(u.progress.All)
		if err != nil {
			return err
		}
	}
	for _, d := range u.done {
		c.Program = state.JoinParts(c.Program, d.Program)
	}
	return nil
}

// addEnd notes where a node that made the update leads from a state.
func (u *update) addEnd(node string, s any) error {
	next, err := u.of.Follow(node, s)
	u.ends = append(u.ends, topology.Completion{Of: &u.of.Nodes[node].Self[0], Next: next})
	return err
}

// next returns what is to run after the update.
func (u *update) next() (g frontier.Frontier, err error) {
	p, o, s := u.of, &u.opt, u.live.Value
	switch {
	case u.keepsPlace():
		return u.frontier, nil
	case o.Goto != "":
		next, ok := p.To[p.Real(o.Goto)]
		if !ok || len(next) == 1 && p.Nodes[next[0].Node].Input != nil {
			return frontier.Frontier{}, posthouse.Invalid("Goto", "%q is not a node of graph %q that runs without an input", o.Goto, p.Title)
		}
		return frontier.Frontier{Tasks: next}, nil
	case o.AsNode == topology.Start:
		next, err := p.Follow(topology.Start, s)
		if err == nil {
			err = p.AdvanceFrontier(&frontier.Frontier{}, &g, []topology.Completion{{Next: next}})
		}
		return g, err
	case len(u.as) == 1:
		if err := u.addEnd(u.as[0].node, s); err != nil {
			return frontier.Frontier{}, err
		}
	}
	if len(u.done)+len(u.ends) == 0 {
		return frontier.Frontier{Tasks: u.rest, Arrived: u.frontier.Arrived, Deferred: u.frontier.Deferred}, nil
	}
	var ends []topology.Completion
	for i := range u.done {
		ends = append(ends, topology.TaskCompletion(&u.done[i].Target, u.done[i].Next))
	}
	ends = append(ends, u.ends...)
	if len(u.rest) > 0 {
		ends = append(ends, topology.Completion{Next: u.rest})
	}
	err = p.AdvanceFrontier(&frontier.Frontier{Arrived: u.frontier.Arrived, Deferred: u.frontier.Deferred}, &g, ends)
	return g, err
}
