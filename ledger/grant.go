package ledger

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// ReadGrant returns a gate as a grant: its decision and the effects that ran under it.
// [posthouse.ErrNotFound] for the gate.
func ReadGrant(ctx context.Context, led core.Ledger, gate posthouse.ID) (*posthouse.Grant, error) {
	l := led.Core()

	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	grant := &posthouse.Grant{Gate: g, Status: posthouse.GrantDecided, Uses: []posthouse.Use{}}
	if g.Decision == nil {
		grant.Status = posthouse.GrantProposed
		return grant, nil
	}
	if grant.Uses, err = usesOf(ctx, l, g); err != nil {
		return nil, err
	}
	info, err := l.Summary(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	grant.Approval = g.Approval(grant.Uses, info, l.Now())
	executed := 0
	for i := range grant.Uses {
		u := &grant.Uses[i]
		switch s := u.Status; {
		case s == posthouse.GrantExecuted:
			executed++
			if err := readResult(ctx, l, g.Thread, u); err != nil {
				return nil, err
			}
		case grant.Status != posthouse.GrantUnknown:
			grant.Status = s
		}
	}
	if grant.Status == posthouse.GrantDecided && executed > 0 && executed >= g.Uses {
		grant.Status = posthouse.GrantExecuted
	}
	return grant, nil
}

func readResult(ctx context.Context, c *core.Core, thread string, u *posthouse.Use) error {
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Seqs: []uint64{u.Seq}}) {
		if err != nil {
			return err
		}
		recs, err := c.Opened(ctx, e)
		if err != nil {
			return err
		}
		if r := &recs[u.Index]; r.Step != nil && (r.Size == 0 || len(e.Bodies[u.Index]) > 0) {
			u.Result = posthouse.Value{Codec: r.Step.Codec, Data: e.Bodies[u.Index]}
		}
	}
	return nil
}

// Uses returns the effects that ran under a gate's decision, oldest first. It reads the
// log's headers from the gate on. [posthouse.ErrNotFound] for the gate.
func Uses(ctx context.Context, led core.Ledger, gate posthouse.ID) ([]posthouse.Use, error) {
	l := led.Core()

	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	return usesOf(ctx, l, g)
}

func usesOf(ctx context.Context, c *core.Core, g *posthouse.Gate) ([]posthouse.Use, error) {
	return gatherUses(ctx, c, g.Thread, g.Seq, func(s *posthouse.StepInfo) bool { return s != nil && s.Grant == g.ID })
}

// Effects returns what acted on the world in a thread, oldest first, also in released
// versions: effects under a gate's decision, and steps and nodes of class
// [posthouse.EffectExternal] without one, whose Grant is "". Effects that a copy or
// fork inherited name the gates of their source. It reads the headers of the whole log.
// [posthouse.ErrNotFound] for the thread.
func Effects(ctx context.Context, led core.Ledger, thread string) ([]posthouse.Use, error) {
	l := led.Core()

	return gatherUses(ctx, l, thread, 1, func(*posthouse.StepInfo) bool { return true })
}

// EffectsAfter is [Effects] without what was complete at an entry of the log: it reads the
// headers after that entry only. An effect that began before it is listed if anything was
// recorded about it later.
func EffectsAfter(ctx context.Context, led core.Ledger, thread string, seq uint64) ([]posthouse.Use, error) {
	return gatherUses(ctx, led.Core(), thread, seq+1, func(*posthouse.StepInfo) bool { return true })
}

// gatherUses reads the uses of wanted steps, from an entry of the log on. want is called
// with nil for a record that is no step.
func gatherUses(ctx context.Context, c *core.Core, thread string, from uint64, want func(*posthouse.StepInfo) bool) ([]posthouse.Use, error) {
	info, none := c.Thread(ctx, thread)
	if none != nil && !errors.Is(none, posthouse.ErrNotFound) {
		return nil, none
	}
	held := none == nil && info.Lease.Held
	g := posthouse.GatherUses()
	if none == nil {
		if err := addOpenTasks(ctx, c, g, info, from); err != nil {
			return nil, err
		}
	}
	for e, err := range c.InOrder(ctx, thread, posthouse.Range{From: from, Headers: true}) {
		if err != nil {
			return nil, err
		}
		none = nil // a thread that was released and has not begun anew
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		for i := range recs {
			if want(recs[i].Step) {
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
