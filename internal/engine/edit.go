package engine

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
)

// OfEdit returns the gate that licenses what a gate was edited to, if that is on record: an
// effect ran under the gate itself, or its decision was found to be enough for the question about
// the edit. It is nil if that has to be judged. Replaced says that something else has been asked
// in the gate's place: it licenses nothing.
func (v Gates) OfEdit(ctx context.Context, edited *posthouse.Gate) (g *posthouse.Gate, replaced bool, err error) {
	s := v.t.session
	uses, by, err := ledger.UsesOfEdit(ctx, s.Ledger(), edited)
	if err != nil {
		return nil, false, s.Unanswered(err)
	}
	for i := range uses {
		if u := &uses[i]; u.Grant == edited.ID && u.Status != grants.Decided {
			return edited, false, nil
		}
	}
	if by == "" {
		return nil, false, nil
	}
	g, err = s.Gate(ctx, by)
	if err != nil || !license.Carries(g, edited) {
		return nil, true, err
	}
	return g, true, nil
}
