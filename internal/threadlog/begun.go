package threadlog

import (
	"context"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Begun says how far executions after a branch's head have come.
type Begun struct {
	Any  bool   // something is on record: a result, or a gate
	Last uint64 // the highest step that an execution is named after, at least the head's
}

// Begun reads what executions after a branch's head have on record. What the checkpoint that the
// step began at has in its own entry is of the step before.
func (l *Logs) Begun(ctx context.Context, head *posthouse.Header) (b Begun, err error) {
	b.Last = head.Step
	line, err := l.Reader(ctx, head.Thread).Lineage(head)
	if err != nil {
		return b, err
	}
	from := line[len(line)-1].From
	for e, err := range l.InOrder(ctx, head.Thread, posthouse.Range{From: from, Headers: true}) {
		if err != nil {
			return b, err
		}
		recs, err := l.Vault.OpenEntry(ctx, e)
		if err != nil {
			return b, err
		}
		if e.Seq == from && completesStep(recs) {
			continue
		}
		for i := range recs {
			if s := recs[i].Step; s != nil && line.Sees(s.Branch, e.Seq) {
				b.note(s.Task)
			}
			if g := recs[i].Gate; g != nil && line.Sees(g.Branch, e.Seq) {
				b.note(g.Task)
			}
		}
	}
	return b, nil
}

func (b *Begun) note(task string) {
	b.Any = true
	digits, _, _ := strings.Cut(task, "/")
	digits, _, _ = strings.Cut(digits, "+")
	if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
		b.Last = max(b.Last, n)
	}
}

func completesStep(recs []posthouse.Record) bool {
	for i := range recs {
		if c := recs[i].Checkpoint; c != nil && posthouse.StepOf(c.Kind) != 0 {
			return true
		}
	}
	return false
}
