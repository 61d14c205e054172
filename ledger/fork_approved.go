package ledger

import (
	"bytes"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// inheritNamed has a fork in a thread of its own inherit the approvals that its state names, as
// a grant that an earlier step proposed. The copies license nothing: [gate.Act] asks again about
// what they show, also once the source was deleted.
func (l *Ledger) inheritNamed(ctx context.Context, p *commit.Plan, c *posthouse.Checkpoint, info *posthouse.ThreadInfo) error {
	if c.Seq < info.First || !namesGate(c) {
		return nil
	}
	all, err := l.core.Logs.Decided(ctx, info)
	if err != nil {
		return err
	}
	for _, a := range all {
		g := a.Gate
		original := g.ID
		if g.Origin != "" {
			original = g.Origin
		}
		has := slices.ContainsFunc(p.Inherit, func(h *posthouse.Gate) bool { return h.ID == g.ID })
		if has || g.Decision.Seq > c.Seq || !names(c, original) {
			continue
		}
		again := *g
		again.Record.Followed, again.Record.Kept = 0, true
		p.Inherit = append(p.Inherit, &again)
	}
	return nil
}

// namesGate reports whether the state of a checkpoint may name a gate at all.
func namesGate(c *posthouse.Checkpoint) bool { return names(c, "gate-") }

func names(c *posthouse.Checkpoint, id posthouse.ID) bool {
	for _, state := range []posthouse.State{c.State, c.Program} {
		for _, v := range state {
			if bytes.Contains(v.Data, []byte(id)) {
				return true
			}
		}
	}
	return false
}
