package history

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// A Control is a way to break a store, and the models that must notice.
type Control struct {
	Name   string
	Models []string
	spoil  func(s *spoilt)
}

// Controls are all ways.
func Controls() []Control {
	return []Control{
		{"appends are not compared", []string{"heads", "gates", "leases"}, func(s *spoilt) { s.blind = true }},
		{"puts are lost", []string{"slots"}, func(s *spoilt) { s.forgetful = true }},
		{"old revisions are taken", []string{"slots"}, func(s *spoilt) { s.stale = true }},
		{"fences are ignored", []string{"slots"}, func(s *spoilt) { s.unfenced = true }},
	}
}

// spoil breaks a store in the way of that name; not at all for "".
func spoil(s posthouse.Store, name string) (posthouse.Store, error) {
	if name == "" {
		return s, nil
	}
	for _, c := range Controls() {
		if c.Name == name {
			b := &spoilt{Store: s}
			c.spoil(b)
			return b, nil
		}
	}
	return nil, fmt.Errorf("history: there is no control %q", name)
}

// spoilt is a store that does not keep its contract.
type spoilt struct {
	posthouse.Store
	blind     bool // acknowledges appends that lost
	forgetful bool // acknowledges some puts and does nothing
	stale     bool // takes a write to a slot under any revision
	unfenced  bool // takes one under any fence
	puts      atomic.Int64
}

func (s *spoilt) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.blind {
		pause(2 * time.Millisecond) // whoever read the same end appends in this time
	}
	err := s.Store.Append(ctx, b)
	if s.blind && errors.Is(err, posthouse.ErrConflict) {
		return nil
	}
	return err
}

func (s *spoilt) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotGet || key.Thread == posthouse.ProcessThread {
		return s.Store.Slot(ctx, key, op)
	}
	if s.forgetful && op.Verb == posthouse.SlotPut && s.puts.Add(1)%4 == 0 {
		have, err := s.Store.Slot(ctx, key, posthouse.SlotOp{})
		if err == nil && op.Admits(key, have, true) == nil {
			return posthouse.Slot{Value: op.Value, Revision: have.Revision + 1, Fence: max(have.Fence, op.Fence)}, nil
		}
	}
	if s.stale {
		op.Revision = posthouse.AnyRevision
	}
	if s.unfenced {
		op.Fence = 0
	}
	return s.Store.Slot(ctx, key, op)
}
