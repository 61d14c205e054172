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
	renamed            frontier.Renames // of the outermost frontier; renamed and names change only between its steps
	names              frontier.Names

	subparts.Record
}

// A subrun is the place of a subgraph's run in the run around it.
type subrun struct {
	path     string // as in "research/plan"
	call     string // the key of the execution that called it
	exec     *engine.Task
	lifetime Lifetime
	unkept   bool             // it, or one around it, is Unkept
	pending  []posthouse.Part // what steps of unkept ones around it did to the program's parts
	parts    []posthouse.Part // of its state, to be committed with the node around it
}

// enter reads what is on record of a call, or of the calls before it. It reports whether
// a call has begun. The plan of a call is dropped when it ends, and when the thread is
// led elsewhere.
func (r *run) enter(ctx context.Context) (stands bool, err error) {
	n := r.subrun
	r.live = state.New(r.app.Schema)
	if n.unkept {
		return false, r.reloadInner(ctx)
	}
	if err := r.sess.Flush(); err != nil {
		return false, err
	}
	if !r.HasCall(n.path) {
		return false, nil
	}
	c, err := r.readHead(ctx)
	if err != nil {
		return false, err
	}
	if v, ok := c.Program[subparts.PlanName(n.path)]; ok {
		g, err := frontier.ReadFrontier(nil, c.Program, subparts.PlanName(n.path))
		if err != nil {
			return false, err
		}
		g.Call = n.call // the thread may have been led on since: the names of the other call stay its own
		r.record.plan, *r.frontier, stands = v.Data, g, true
	}
	if !stands && n.lifetime != PerThread {
		return false, nil
	}
	r.live, err = state.Decode(r.app.Schema, subparts.Within(c, n.path))
	return stands, err
}

// reloadInner is reload for a subgraph. An unkept one begins with the state that an
// earlier call within the same unkept one left, if it lives per thread.
func (r *run) reloadInner(ctx context.Context) (err error) {
	n, c := r.subrun, &posthouse.Checkpoint{Program: posthouse.State{}}
	switch {
	case !n.unkept:
		c, err = r.readHead(ctx)
	case n.lifetime == PerThread:
		err = state.ApplyParts(c.Program, n.pending)
	}
	if err != nil {
		return err
	}
	in := subparts.Within(c, n.path)
	if err := state.ApplyParts(in.State, r.record.uncommitted); err != nil {
		return err
	}
	r.live, err = state.Decode(r.app.Schema, in)
	return err
}
