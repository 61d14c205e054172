// Package edit changes checkpoints by hand: it updates a state in one step or in several, forks
// with another state, and changes the state of a subgraph.
//
// It works out which tasks an update is made as, which others of their step completed, and what
// is still to run. It runs no node.
package edit

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/upgrade"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Program is a version of a graph with the code of its transitions.
type Program struct {
	*upgrade.Version

	// Follow returns where the transitions of a node, or of Start, lead from a state.
	Follow func(node string, state any) ([]frontier.Target, error)
}

// Options say what an update is made as and where the thread goes on, see
// graph.UpdateOptions.
type Options struct {
	AsNode, Goto string
	Task         int
	By           string
	Labels       map[string]string
	NewBranch    string
}

// Update changes the state of a checkpoint, and returns the child that it makes.
func (p *Program) Update(ctx context.Context, base *posthouse.Checkpoint, change func(state any), o Options) (*posthouse.Header, error) {
	u, err := p.begin(ctx, base, o, true)
	if err != nil {
		return nil, err
	}
	if err := apply(change, u.live.Value); err != nil {
		return nil, err
	}
	c, err := u.change(o.By)
	if err != nil {
		return nil, err
	}
	return child.Commit(ctx, p.Ledger, base, c, u.left(), o.NewBranch)
}

// apply makes a change, which may be nil. A panic in it is an error.
func apply(change func(any), s any) error {
	if change == nil {
		return nil
	}
	return engine.Guard(func() error { change(s); return nil })
}

// partsOf changes what a checkpoint has as its state, which is read into s, and returns the
// parts that differ then.
func partsOf(schema *state.Schema, c *posthouse.Checkpoint, s any, change func(any)) ([]posthouse.Part, error) {
	if err := schema.Read(c, s); err != nil {
		return nil, err
	}
	if err := apply(change, s); err != nil {
		return nil, err
	}
	return schema.Write(s, c.State)
}
