package edit

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/ledger"
)

// Within changes the state of a subgraph at the head of its branch, and returns the child that
// it makes of the head. s is the state that schema read.
func Within(ctx context.Context, l *ledger.Ledger, in *subparts.Ref, schema *state.Schema, s any, change func(state any), by string) (*posthouse.Header, error) {
	if err := apply(change, s); err != nil {
		return nil, err
	}
	parts, err := schema.Write(s, in.State().State)
	if err != nil {
		return nil, err
	}
	c := in.At
	up := &posthouse.Change{
		Parent: c.ID, Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted, Graph: c.Graph, Fingerprint: c.Fingerprint,
		Node: c.Node, Next: c.Next, By: by, MidStep: true,
	}
	if len(c.Next) == 0 {
		up.Status, up.MidStep = c.Status, false
	}
	if in.Path == "" {
		up.Parts = parts
	} else {
		for i := range parts {
			parts[i].Name = subparts.StateName(in.Path) + parts[i].Name
		}
		up.Program = parts
	}
	done, err := l.Commit(ctx, &ledger.Draft{Thread: c.Thread, Branch: c.Branch, Head: &c.ID, Checkpoint: up})
	if err != nil {
		return nil, err
	}
	return done.Checkpoint, nil
}
