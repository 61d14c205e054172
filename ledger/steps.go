package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
)

// MaxSteps is how many records [Steps] returns at most.
const MaxSteps = 1000

// Steps returns what was recorded of steps on a checkpoint's branch since its parent, oldest first, with
// how each came to its result: when its attempt began, how many attempts there were, the error before
// and the notes on it. The last event is the checkpoint's own, with what is told of its node. Of more
// than [MaxSteps] records the newest are returned. Results themselves are not read.
//
// Notes that were removed with their results are absent. Errors are those of [Ledger.Log].
func Steps(ctx context.Context, l *Ledger, h *posthouse.Header) ([]*posthouse.Event, error) {
	from := h.Seq
	if h.ParentSeq != 0 && h.ParentSeq < h.Seq {
		from = h.ParentSeq + 1
	}
	var all []*posthouse.Event
	for e, err := range l.Log(ctx, h.Thread, posthouse.Range{From: max(from, h.Seq-min(h.Seq, MaxSteps)), To: h.Seq}) {
		if err != nil {
			return nil, err
		}
		for _, ev := range e.Events {
			own := ev.Checkpoint != nil && ev.Checkpoint.ID == h.ID && ev.Checkpoint.Seq == h.Seq
			if own || ev.Step != nil && ev.Step.Branch == h.Branch {
				all = append(all, ev)
			}
		}
	}
	return all[max(0, len(all)-MaxSteps):], nil
}
