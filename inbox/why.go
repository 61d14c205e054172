package inbox

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/ledger"
)

// Why returns why a gate was decided, "" if no reason is on record. It is the reason of the decision, but
// for gates that an earlier version withdrew with the cancellation of their branch: their decisions say
// that the branch went on, and Why says who cancelled it. Every door tells the reason so.
func Why(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) (string, error) {
	d := g.Decision
	if d == nil || !older(d) {
		return WhyIn(d, g.Branch), nil
	}
	made, err := madeWith(ctx, l, g)
	if err != nil {
		return "", err
	}
	return WhyIn(d, g.Branch, made...), nil
}

// WhyIn is [Why] for a decision on a gate of a branch. made are the checkpoints of the entry that has
// the decision.
func WhyIn(d *posthouse.Decision, branch string, made ...*posthouse.Header) string {
	if d == nil {
		return ""
	}
	if h := cancelling(branch, made); h != nil && older(d) {
		return text.BranchCancelled(h.By, h.Error)
	}
	return d.Reason
}

// WhyWithdrawn returns why the runtime withdrew a gate, as readers are told who may not read what others
// wrote: who cancelled its branch, without their reason, or that the branch went on. It is "" for other
// gates.
func WhyWithdrawn(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) (string, error) {
	if !g.Withdrawn() {
		return "", nil
	}
	made, err := madeWith(ctx, l, g)
	if err != nil {
		return "", err
	}
	switch h := cancelling(g.Branch, made); {
	case h != nil:
		return text.BranchCancelled(h.By, ""), nil
	case older(g.Decision):
		return g.Decision.Reason, nil
	}
	return "", nil
}

// older reports whether a decision has the words that earlier versions wrote for every gate that they
// withdrew. Today's write them where the branch went on.
func older(d *posthouse.Decision) bool {
	return d.By == posthouse.RuntimeActor && d.Verdict == posthouse.Cancel && d.Reason == text.WentOn
}

// madeWith returns the checkpoints of the entry that has a gate's decision, nil if it is removed.
func madeWith(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) (made []*posthouse.Header, err error) {
	for e, err := range l.Log(ctx, g.Thread, posthouse.Range{Seqs: []uint64{g.Decision.Seq}, Headers: true}) {
		if err != nil {
			return nil, err
		}
		for i := range e.Records {
			if h := e.Records[i].Checkpoint; h != nil {
				made = append(made, h)
			}
		}
	}
	return made, nil
}

// cancelling returns the checkpoint that cancels a branch, or nil.
func cancelling(branch string, made []*posthouse.Header) *posthouse.Header {
	for _, h := range made {
		if h.Kind == posthouse.KindCancel && h.Branch == branch {
			return h
		}
	}
	return nil
}
