package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// readAttempts reads which workers had an effect.
func readAttempts(ctx context.Context, c *core.Core, thread string, u *grants.Use) error {
	places := u.Places()
	if len(places) == 0 {
		return nil
	}
	seqs := make([]uint64, len(places))
	for i := range places {
		seqs[i] = places[i].Seq
	}
	slices.Sort(seqs) // an entry may hold several
	seqs = slices.Compact(seqs)
	at := map[posthouse.ID]int{}
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Seqs: seqs}) {
		if err != nil {
			return err
		}
		if _, err := c.Vault.OpenEntry(ctx, e); err != nil {
			return err
		}
		for _, p := range places {
			if p.Seq != e.Seq || len(e.Bodies[p.Index]) == 0 {
				continue
			}
			var r commit.UseRecord
			if err := json.Unmarshal(e.Bodies[p.Index], &r); err != nil {
				return posthouse.Corrupt("the claim in entry %d of thread %q does not decode: %v", e.Seq, thread, err)
			}
			if i, ok := at[r.Gate]; ok && p.Undone {
				u.Attempts[i].Undone = true
			} else if !p.Undone {
				at[r.Gate] = len(u.Attempts)
				u.Attempts = append(u.Attempts, grants.Attempt{Gate: r.Gate, Worker: r.Worker, At: e.Time()})
			}
		}
	}
	return nil
}

// addOpenTasks adds the open tasks of a thread that are in entries before one.
func addOpenTasks(ctx context.Context, c *core.Core, to *grants.Gatherer, info *posthouse.ThreadInfo, before uint64) error {
	for i := range info.Waiting {
		w := &info.Waiting[i]
		if w.Kind != posthouse.GateTask || w.Seq >= before {
			continue
		}
		g, err := c.Logs.Gate(ctx, w.ID)
		if errors.Is(err, posthouse.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		to.OpenTask(info.Generation, g)
	}
	return nil
}
