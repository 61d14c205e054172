package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
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

// Select returns the case whose wait was over first, by the record, with its outcome. Of cases that
// wait for nothing the first wins, unless one before it is over. The commit that records it withdraws what the others wait for. While all of them
// wait it returns [posthouse.ErrWaiting]. A wait that is over without a value (a deadline
// passed, it was refused, a worker gave up) is over with its error: failed. Another error of a
// case is that of the select, as of [Task.Do].
func (t *Task) Select(ctx context.Context, name string, cases []SelectCase) (won string, v posthouse.Value, failed, err error) {
	c, err := t.Call(ctx, name, StepOptions{})
	if err != nil {
		return "", v, nil, err
	}
	if c.recorded != nil {
		horizonOf(ctx).found()
	}
	rec, err := c.Run(ctx, func(ctx context.Context) (posthouse.Value, error) {
		h, ctx := newHorizon(ctx)
		s, err := t.firstOver(ctx, h, cases)
		if err != nil {
			return posthouse.Value{}, err
		}
		c.horizon = h
		data, err := json.Marshal(s)
		return posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}, err
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

// firstOver runs the cases, each time with one more entry of the record, until one is over. What
// they record and ask stays; a case that runs again finds it.
func (t *Task) firstOver(ctx context.Context, h *horizon, cases []SelectCase) (*selection, error) {
	t.mu.Lock()
	t.made().repeats = true
	t.mu.Unlock()
	hidden := make([]uint64, len(cases)) // the entry for which a case runs again
	var ready *selection                 // of the first case that waited for nothing
	for first := true; ; first = false {
		for i := range cases {
			if !first {
				if hidden[i] != h.limit {
					continue
				}
				t.rewind(t.Scoped(ctx, cases[i].Name) + replay.Nested)
			}
			h.begin()
			s, err := cases[i].try(ctx, t)
			next, read := h.state()
			hidden[i] = 0
			switch {
			case errors.Is(err, posthouse.ErrWaiting):
				hidden[i] = next
			case err != nil:
				return nil, err
			case read || ready == nil && slices.Max(hidden) == 0:
				return s, nil
			case ready == nil:
				ready = s
			}
		}
		next := uint64(0)
		for _, seq := range hidden {
			if next == 0 || seq > 0 && seq < next {
				next = seq
			}
		}
		switch {
		case next == 0 && ready != nil:
			return ready, nil
		case next == 0 || !h.move(next):
			return nil, posthouse.ErrWaiting
		}
	}
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

// losers returns the gates that the record of a call withdraws: open ones, and waits that took a
// signal which the program was not given.
func (t *Task) losers(c *call) (ids []posthouse.ID) {
	if c.horizon == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.replay.Within(c.within("")) {
		if g.Decision == nil || t.isUnread(c, g) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// isUnread reports whether a wait within a select took a signal that the program was not given.
// Callers hold t.mu.
func (t *Task) isUnread(c *call, g *posthouse.Gate) bool {
	return commit.TookSignal(g) && !c.horizon.wasGiven(g.ID) && !t.replay.WithinResult(g.Name)
}

// forgetWaits forgets what was asked and waited for within a call that is on record.
func (t *Task) forgetWaits(c *call) {
	if c.horizon == nil {
		return
	}
	prefix := c.within("")
	t.mu.Lock()
	for _, g := range t.replay.Within(prefix) {
		if g.Decision == nil || t.isUnread(c, g) {
			g.Decision = &posthouse.Decision{Gate: g.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: lostReason}
		}
	}
	t.mu.Unlock()
	t.forgetAsked(prefix)
}
