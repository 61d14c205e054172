package runner

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
)

// lookEvery is how often a runner looks for threads that wait for one which has ended.
const lookEvery = time.Minute

// wakeCallers ends the waits for threads that have ended. Whoever ended them does so itself, unless
// its process was lost before. A gate that cannot be read does not keep the others open.
func (r *Runner) wakeCallers(ctx context.Context) error {
	var open []*posthouse.Gate
	var failed error
	for g, err := range r.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateThread}) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		open = append(open, g)
	}
	for _, g := range open {
		if ctx.Err() != nil {
			return nil
		}
		_, err := commit.WakeIfEnded(ctx, r.ledger.Core(), g)
		failed = errors.Join(failed, err)
	}
	return failed
}

// keepWaking wakes callers when the runner starts, and regularly.
func (r *Runner) keepWaking(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.wakeCallers(ctx); err != nil && ctx.Err() == nil {
			r.opt.Logger.Warn("cannot look after threads that wait for another; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}
