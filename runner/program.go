package runner

import (
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
)

// A Sweeper is a program that looks after threads which have nothing to go on
// with. A runner has it sweep at start-up, then each hour; where a sweep failed,
// after Options.Poll, and after twice as long each time that it fails again, at
// most an hour. A graph's programs with subgraphs in threads of their own are
// Sweepers: those that nobody will come back for are cancelled.
type Sweeper interface {
	// Sweep returns soon after ctx has ended. It may run in several processes at
	// once; what it fails at is tried again.
	Sweep(ctx context.Context) error
}

// sweepEvery is how often programs sweep.
const sweepEvery = time.Hour

// sweepers starts the programs' own sweeps, until ctx ends.
func (r *Runner) sweepers(ctx context.Context, helpers *sync.WaitGroup) {
	for name, p := range r.programs {
		if s, ok := p.(Sweeper); ok {
			helpers.Go(func() { r.keepSweeping(ctx, name, s) })
		}
	}
}

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
		t := time.NewTimer(again)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}
