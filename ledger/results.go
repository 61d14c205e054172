package ledger

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A ResultState says why a result was not read.
type ResultState string

// The states of results. The empty one is a result that was read.
const (
	ResultRemoved ResultState = "removed" // its body is gone, by retention or a removal
	ResultSealed  ResultState = "sealed"  // it is encrypted, and there is no key
	ResultLarge   ResultState = "large"   // it is beyond the limit of what is read
)

// A StepResult is what a recorded step returned.
type StepResult struct {
	Value posthouse.Value
	Size  int // bytes on record, which for a sealed one are those of the sealed form
	State ResultState
}

// StepResults reads the results of the steps among events of one thread, as [Steps] returns them. At the
// place of an event that is no step, and of one without a result, it has nil. At most that many bytes are
// returned: a result that does not fit is passed over, and later ones may fit. A result that is gone or
// sealed is no error. Errors are those of [Ledger.Log].
func StepResults(ctx context.Context, l *Ledger, events []*posthouse.Event, most int) ([]*StepResult, error) {
	c := l.Core().Core
	all, at := make([]*StepResult, len(events)), map[uint64][]int{}
	var seqs []uint64
	thread := ""
	for i, ev := range events {
		if ev.Step == nil {
			continue
		}
		if len(at[ev.Seq]) == 0 {
			seqs = append(seqs, ev.Seq)
		}
		at[ev.Seq], thread = append(at[ev.Seq], i), ev.Thread
	}
	if len(seqs) == 0 {
		return all, nil
	}
	for e, err := range c.Store.Read(ctx, thread, posthouse.Range{Seqs: seqs}) {
		if err != nil {
			return nil, err
		}
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		for _, i := range at[e.Seq] {
			all[i], err = resultOf(ctx, c, e, recs, events[i].Step, most)
			if err != nil {
				return nil, err
			}
			if r := all[i]; r != nil {
				most -= len(r.Value.Data)
			}
		}
	}
	return all, nil
}

// resultOf reads the result of a step in an entry, or nil if it has no result.
func resultOf(ctx context.Context, c *core.Core, e *posthouse.Entry, recs []posthouse.Record, s *posthouse.StepInfo, most int) (*StepResult, error) {
	for i := range recs {
		r := &recs[i]
		if r.Step == nil || r.Step.Task != s.Task || r.Step.Name != s.Name || r.Step.Occurrence != s.Occurrence || r.Step.Branch != s.Branch {
			continue
		}
		if r.Size == 0 {
			return nil, nil
		}
		found := &StepResult{Size: r.Size}
		switch {
		case len(e.Bodies) <= i || len(e.Bodies[i]) == 0:
			found.State = ResultRemoved
			return found, nil
		case r.Size > most:
			found.State = ResultLarge
			return found, nil
		}
		body, err := c.Vault.OpenBody(ctx, e, recs, i)
		switch {
		case errors.Is(err, posthouse.ErrSealed):
			found.State = ResultSealed
			return found, nil
		case err != nil:
			return nil, err
		case len(body) > most:
			found.State = ResultLarge
			return found, nil
		}
		found.Value = posthouse.Value{Codec: s.Codec, Data: body}
		return found, nil
	}
	return nil, nil
}
