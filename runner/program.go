package runner

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
)

// A Sweeper is a program that also looks after threads that cannot run. A runner has it
// sweep at start-up, then each hour. After a failure it sweeps again after Options.Poll,
// and then after twice as long each time, at most an hour. Graphs with subgraphs in
// threads of their own are Sweepers: they cancel the threads that no caller comes back for.
type Sweeper interface {
	// Sweep returns soon after ctx has ended. It may run in several processes at once.
	// After an error it is called again.
	Sweep(ctx context.Context) error
}

const sweepEvery = time.Hour

func (r *Runner) keepSweeping(ctx context.Context, name string, s Sweeper) {
	soon := r.opt.Poll
	for ctx.Err() == nil {
		again := sweepEvery
		if err := engine.Guard(func() error { return s.Sweep(ctx) }); err == nil {
			soon = r.opt.Poll
		} else if ctx.Err() == nil {
			again = min(soon, sweepEvery)
			soon = 2 * again
			r.opt.Logger.Error("a program cannot look after its threads; trying again", "program", name, "error", err, "in", again)
		}
		pause(ctx, again)
	}
}
