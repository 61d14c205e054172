package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/internal/engine"
)

// A rootState is what a run and the subgraphs within it share.
type rootState struct {
	graph, fingerprint string
	renamed            frontier.Renames // of the outermost frontier, as names; both change between its steps only
	names              frontier.Names

	subparts.Record
}

// A subrun is where a run of a subgraph stands in the run around it.
type subrun struct {
	path     string // as in "research/plan"
	call     string // the key of the execution that called it
	exec     *engine.Task
	lifetime Lifetime
	unkept   bool             // it, or one around it, is Unkept
	pending  []posthouse.Part // what steps of unkept ones around it did to the program's parts
	parts    []posthouse.Part // of its state, to be committed with the node around it
}

// enter takes up what is on record of a call, or of the calls before it. It
// reports whether a call has begun: its plan is dropped when it ends, and when
// the thread is led elsewhere.
func (r *run[S]) enter(ctx context.Context) (stands bool, err error) {
	n := r.subrun
	r.live = state.New[S](r.app.schema)
	if n.unkept {
		return false, r.enterUnkept()
	}
	if err := r.sess.Flush(); err != nil {
		return false, err
	}
	if planned, kept := r.rootState.Begun(n.path); !planned && !kept {
		return false, nil
	}
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return false, err
	}
	if v, ok := c.Program[subparts.PlanName(n.path)]; ok {
		g, err := frontier.ReadFrontier(nil, c.Program, subparts.PlanName(n.path))
		if err != nil {
			return false, err
		}
		r.record.plan, *r.frontier, n.call, stands = v.Data, g, g.Call, true
	}
	if !stands && n.lifetime != PerThread {
		return false, nil
	}
	r.live, err = state.Decode[S](r.app.schema, subparts.Within(c, n.path))
	return stands, err
}

// enterUnkept takes up what an earlier call within the same unkept one left.
func (r *run[S]) enterUnkept() (err error) {
	if r.subrun.lifetime != PerThread {
		return nil
	}
	c := &posthouse.Checkpoint{Program: posthouse.State{}}
	if err := state.ApplyParts(c.Program, r.subrun.pending); err != nil {
		return err
	}
	r.live, err = state.Decode[S](r.app.schema, subparts.Within(c, r.subrun.path))
	return err
}

// reloadInner is reload for a subgraph.
func (r *run[S]) reloadInner(ctx context.Context) error {
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return err
	}
	in := subparts.Within(c, r.subrun.path)
	if r.subrun.unkept {
		c = &posthouse.Checkpoint{Program: posthouse.State{}}
		if err := state.ApplyParts(c.Program, r.subrun.pending); err != nil {
			return err
		}
		if in = subparts.Within(c, r.subrun.path); r.subrun.lifetime != PerThread {
			clear(in.State)
		}
	}
	if err := state.ApplyParts(in.State, r.record.uncommitted); err != nil {
		return err
	}
	r.live, err = state.Decode[S](r.app.schema, in)
	return err
}
