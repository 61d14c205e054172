package commit

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
)

// OpenGates say what becomes of the gates that a branch has open. A checkpoint cancels those
// that are neither kept nor answered.
type OpenGates struct {
	Keep    []posthouse.ID // these stay open
	KeepAll bool           // all stay open, except superseded and withdrawn ones
	Left    []posthouse.ID // those of called threads that an update of the same step leaves

	Withdraw []posthouse.ID // these are cancelled, even with KeepAll, and without a checkpoint
	Reason   string         // on record with those; "": that the branch went on without them

	Answers map[posthouse.ID]*posthouse.Decision // from before the checkpoint
}

// keeps reports whether a gate stays open.
func (o *OpenGates) keeps(id posthouse.ID) bool {
	return !o.withdraws(id) && (o.KeepAll || slices.Contains(o.Keep, id))
}

// withdraws reports whether a gate is cancelled, whatever else is kept.
func (o *OpenGates) withdraws(id posthouse.ID) bool { return slices.Contains(o.Withdraw, id) }

// why returns why a plan withdraws an open gate.
func (p *Plan) why(id posthouse.ID) string {
	switch {
	case p.Cancel && p.Checkpoint != nil:
		return text.BranchCancelled(p.Checkpoint.By, p.Checkpoint.Error)
	case p.Open.withdraws(id):
		return cmp.Or(p.Open.Reason, text.WentOn)
	}
	return text.WentOn
}
