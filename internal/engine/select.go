package engine

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/failure"
	"github.com/posthouse/posthouse/runs"
)

// A SelectCase is one of the waits that a select waits for.
type SelectCase struct {
	Name string
	Wait Work
}

// lostReason is why the waits of a select are withdrawn that were not over first.
const lostReason = "another wait of the same select was over first"

// A selection is the record of a select: the case that was over first, and what it came to.
type selection struct {
	Case   string          `json:"case"`
	Codec  string          `json:"codec,omitempty"` // of a value that is no JSON
	Value  json.RawMessage `json:"value,omitempty"`
	Data   []byte          `json:"data,omitempty"`
	Failed json.RawMessage `json:"failed,omitempty"`
}

// Select returns the first of the cases, in their order, that has ended its wait, with its
// outcome. The commit that records it withdraws what the others wait for. While all of them
// wait it returns [posthouse.ErrWaiting]. A wait that is over without a value (a deadline
// passed, it was refused, a worker gave up) is over with its error: failed. Another error of a
// case is that of the select, as of [Task.Do].
func (t *Task) Select(ctx context.Context, name string, cases []SelectCase) (won string, v posthouse.Value, failed, err error) {
	c, err := t.Call(ctx, name, StepOptions{})
	if err != nil {
		return "", v, nil, err
	}
	c.selects = true
	rec, err := c.Run(ctx, func(ctx context.Context) (posthouse.Value, error) {
		for i := range cases {
			s, err := cases[i].try(ctx, t)
			if errors.Is(err, posthouse.ErrWaiting) {
				continue
			}
			if err != nil {
				return posthouse.Value{}, err
			}
			data, err := json.Marshal(s)
			return posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}, err
		}
		return posthouse.Value{}, posthouse.ErrWaiting
	})
	if use := t.useOf(ctx); err == nil && use != nil {
		err = use.Lost(ctx)
	}
	if err != nil {
		return "", v, nil, err
	}
	var s selection
	if err := json.Unmarshal(rec.Data, &s); err != nil {
		return "", v, nil, posthouse.Corrupt("what select %s came to does not decode: %v", c.label(), err)
	}
	if s.Failed != nil {
		f, err := failure.Decode(c.within(s.Case), s.Failed)
		if err != nil {
			return "", v, nil, posthouse.Corrupt("how case %s of select %s ended does not decode: %v", s.Case, c.label(), err)
		}
		return s.Case, v, f, nil
	}
	v = posthouse.Value{Codec: posthouse.JSON.Name(), Data: s.Value}
	if s.Codec != "" {
		v = posthouse.Value{Codec: s.Codec, Data: s.Data}
	}
	return s.Case, v, nil, nil
}

// try runs a case. [posthouse.ErrWaiting] if it waits on.
func (c *SelectCase) try(ctx context.Context, t *Task) (*selection, error) {
	s := &selection{Case: c.Name}
	v, err := c.Wait(t.Scope(ctx, t.Scoped(ctx, c.Name), 0))
	switch {
	case err == nil && v.Codec == posthouse.JSON.Name():
		s.Value = v.Data
	case err == nil:
		s.Codec, s.Data = v.Codec, v.Data
	case errors.Is(err, posthouse.ErrWaiting) || ctx.Err() != nil || t.session.Err() != nil || !isOverError(err):
		return nil, err
	default:
		s.Failed = failure.Encode(err)
	}
	return s, nil
}

// isOverError reports whether an error says how a wait ended.
func isOverError(err error) bool {
	if _, ok := errors.AsType[*runs.RemoteError](err); ok {
		return true
	}
	e, ok := errors.AsType[*posthouse.Error](err)
	return ok && e.Decision != nil
}

// losers returns the open gates that the record of a call withdraws.
func (t *Task) losers(c *call) (ids []posthouse.ID) {
	if !c.selects {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.replay.OpenWithin(c.within("")) {
		ids = append(ids, g.ID)
	}
	return ids
}

// forgetWaits forgets what was asked and waited for within a call that is on record.
func (t *Task) forgetWaits(c *call) {
	if !c.selects {
		return
	}
	prefix := c.within("")
	t.mu.Lock()
	for _, g := range t.replay.OpenWithin(prefix) {
		g.Decision = &posthouse.Decision{Gate: g.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: lostReason}
	}
	t.mu.Unlock()
	t.forgetAsked(prefix)
}
