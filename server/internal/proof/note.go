package proof

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
)

// Note lists a verification that was made before the server began. A nil report says that it was not
// finished, and why.
func (p *Proof) Note(ctx context.Context, by string, began time.Time, report *sign.Report, why string) {
	v := &Verification{ID: p.ledger.Core().NewID(), State: Running, By: by, Started: began.UTC()}
	if p.jobs.begin(v, func() {}) != nil {
		return // one that a client began is newer
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if report == nil {
		v.Problem = why
		stop()
		p.end(ctx, v, nil, nil)
		return
	}
	tails := map[string]uint64{}
	for t, err := range p.ledger.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil || len(tails) == maxTails {
			tails = nil // what came later is not counted
			break
		}
		tails[t.Thread] = t.Tail.Seq
	}
	p.jobs.remember(v, tails)
	p.end(ctx, v, report, nil)
}
