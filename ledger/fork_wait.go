package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// forkWait limits how long a fork waits for a run that has the thread.
const forkWait = 10 * time.Second

// commitWhenFree commits the first checkpoint of a fork. While a run has the thread, it waits until that parks or
// ends, and takes the thread for the commit: a fork begins a branch and runs nothing. A fork that
// waited [forkWait] fails with [posthouse.ErrBusy].
func commitWhenFree(ctx context.Context, c *commit.Committer, p *commit.Plan) (*commit.Made, error) {
	made, err := commit.Run(ctx, c, p)
	if p.Claim != nil || !errors.Is(err, posthouse.ErrBusy) {
		return made, err
	}
	busy := err
	limited, stop := context.WithTimeout(ctx, forkWait)
	defer stop()
	claim, err := c.NewTicket(p.Thread, false).Claim(limited, "fork", func(e *posthouse.Error) error { busy = e; return nil })
	if err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			return nil, busy
		}
		return nil, err
	}
	return commitUnder(ctx, c, p, claim)
}

// commitUnder commits under a claim, and gives the thread back.
func commitUnder(ctx context.Context, c *commit.Committer, p *commit.Plan, claim *core.Claim) (made *commit.Made, err error) {
	p.Claim = claim
	defer func() {
		p.Claim = nil
		_ = claim.Release(context.WithoutCancel(ctx)) // the commit has ended the lease, or nothing is on record
	}()
	return commit.Run(ctx, c, p)
}
