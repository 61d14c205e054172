package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// ReadGrant returns a gate as a grant: its decision and the effects that ran under it.
// [posthouse.ErrNotFound] for the gate.
func ReadGrant(ctx context.Context, led *Ledger, gate posthouse.ID) (*grants.Grant, error) {
	l := led.Core()
	g, err := l.Logs.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	grant := &grants.Grant{Gate: g, Status: grants.Decided, Uses: []grants.Use{}}
	if g.Decision == nil {
		grant.Status = grants.Proposed
		return grant, nil
	}
	by := posthouse.ID("")
	grant.Uses, by, err = usesOfEdit(ctx, l.Core, g)
	if err != nil {
		return nil, err
	}
	info, err := l.Logs.Summary(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	grant.Approval = grants.ApprovalOf(g, grant.Uses, info, l.Now())
	if by != "" && grant.Approval.Kept() {
		grant.Approval = grants.ApprovalEnded
	}
	executed := 0
	for i := range grant.Uses {
		u := &grant.Uses[i]
		switch s := u.Status; {
		case s == grants.Executed:
			executed++
			if err := readResult(ctx, l.Core, g.Thread, u); err != nil {
				return nil, err
			}
		case grant.Status != grants.Unknown:
			grant.Status = s
		}
	}
	if grant.Status == grants.Decided && executed > 0 && executed >= g.Uses {
		grant.Status = grants.Executed
	}
	return grant, nil
}

func readResult(ctx context.Context, c *core.Core, thread string, u *grants.Use) error {
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Seqs: []uint64{u.Seq}}) {
		if err != nil {
			return err
		}
		recs, err := c.Vault.OpenEntry(ctx, e)
		if err != nil {
			return err
		}
		if r := &recs[u.Index]; r.Step != nil && grants.IsResult(r.Step) && (r.Size == 0 || len(e.Bodies[u.Index]) > 0) {
			u.Result = posthouse.Value{Codec: r.Step.Codec, Data: e.Bodies[u.Index]}
		}
	}
	return nil
}

// readEntry reads an entry with its bodies. Those with an erased key stay sealed.
func readEntry(ctx context.Context, c *core.Core, thread string, seq uint64) (*posthouse.Entry, []posthouse.Record, error) {
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Seqs: []uint64{seq}}) {
		if err != nil {
			return nil, nil, err
		}
		recs, err := c.Vault.OpenEntry(ctx, e)
		if errors.Is(err, posthouse.ErrSealed) {
			recs, err = e.CheckRecords()
		}
		return e, recs, err
	}
	return nil, nil, posthouse.Corrupt("entry %d of thread %q is missing", seq, thread)
}

// UsesOfEdit returns the effects that ran under a gate's decision, oldest first, and those that
// ran under the gate that was opened in place of its edit. by is that gate, "" if there is no such gate:
// the question about the edited content, or its record with the decision of the edit. It reads
// the log's headers from the gate on.
func UsesOfEdit(ctx context.Context, led *Ledger, g *posthouse.Gate) (uses []grants.Use, by posthouse.ID, err error) {
	return usesOfEdit(ctx, led.Core().Core, g)
}

func usesOfEdit(ctx context.Context, c *core.Core, g *posthouse.Gate) (uses []grants.Use, by posthouse.ID, err error) {
	var edits threadlog.Edits
	uses, err = gatherUses(ctx, c, g.Thread, g.Seq, func(r *posthouse.Record) bool {
		edits.Add(r)
		return r.Step != nil && edits.Follows(r.Step.Grant, g.ID)
	})
	return uses, edits.By(g.ID), err
}

// Effects returns the effects on the world of a thread, oldest first, also in released
// versions: effects under a gate's decision, and steps and nodes of class
// [posthouse.EffectExternal] without a decision, with an empty Grant. Effects that a
// copy or fork inherited name the gates of their source. It reads the headers of the
// whole log. It fails with [posthouse.ErrNotFound] for an unknown thread.
func Effects(ctx context.Context, led *Ledger, thread string) ([]grants.Use, error) {
	l := led.Core()
	return gatherUses(ctx, l.Core, thread, 1, func(*posthouse.Record) bool { return true })
}

// EffectsAfter is [Effects] without what was complete at an entry of the log: it reads the
// headers after that entry only. An effect that began before it is listed if anything was
// recorded about it later.
func EffectsAfter(ctx context.Context, led *Ledger, thread string, seq uint64) ([]grants.Use, error) {
	return gatherUses(ctx, led.Core().Core, thread, seq+1, func(*posthouse.Record) bool { return true })
}

// gatherUses reads the uses of wanted records, from an entry of the log on.
func gatherUses(ctx context.Context, c *core.Core, thread string, from uint64, want func(*posthouse.Record) bool) ([]grants.Use, error) {
	info, none := c.Logs.Thread(ctx, thread)
	if none != nil && !errors.Is(none, posthouse.ErrNotFound) {
		return nil, none
	}
	held := none == nil && info.Lease.Held
	g := grants.Gather()
	if none == nil {
		if err := addOpenTasks(ctx, c, g, info, from); err != nil {
			return nil, err
		}
	}
	for e, err := range c.Logs.InOrder(ctx, thread, posthouse.Range{From: from, Headers: true}) {
		if err != nil {
			return nil, err
		}
		none = nil // a thread that was released and has not started again
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(recs, func(r posthouse.Record) bool { return grants.NeedsBody(&r) }) {
			e, recs, err = readEntry(ctx, c, thread, e.Seq)
			if err != nil {
				return nil, err
			}
		}
		for i := range recs {
			if want(&recs[i]) {
				g.Add(e, i, &recs[i])
			} else {
				g.Note(e, &recs[i])
			}
		}
	}
	uses := g.Uses(held)
	for i := range uses {
		if err := readAttempts(ctx, c, thread, &uses[i]); err != nil {
			return nil, err
		}
	}
	return uses, none
}
