package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A lease is this process's hold on an endpoint. Each write of its slot is under the revision of
// the one before, so a process that has lost it finds out.
type lease struct {
	ledger   *ledger.Ledger
	name     string
	address  string
	log      *slog.Logger
	revision uint64
	state    *state
	fresh    bool // the endpoint is new: its slot was made just now

	// begin is called before the slot of a new endpoint is made: what is written from then on
	// is told.
	begin func()
}

// errLost says that another process has the endpoint.
var errLost = errors.New("another process has the endpoint")

func (l *lease) owner() string { return l.ledger.Core().Config.Owner }

// acquire waits until this process has the endpoint. It fails only as ctx ends.
func (l *lease) acquire(ctx context.Context) error {
	every := l.ledger.Core().Config.RenewEvery()
	for first := true; ; first = false {
		ok, err := l.try(ctx, first)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.log.Warn("cannot see who has an endpoint; trying again", "endpoint", l.name, "error", err)
		case ok:
			return nil
		}
		if !sleep(ctx, every) {
			return ctx.Err()
		}
	}
}

// try takes the endpoint if it is free. A store that only this process has open leaves no owner
// but this one: first is the first look, and whoever had the endpoint before is gone.
func (l *lease) try(ctx context.Context, first bool) (bool, error) {
	store := l.ledger.Store()
	slot, err := store.Slot(ctx, stateKey(l.name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	l.fresh = errors.Is(err, posthouse.ErrNotFound)
	if err != nil && !l.fresh {
		return false, err
	}
	now := l.ledger.Now()
	if l.fresh {
		l.state, l.revision = &state{Since: now, Address: l.address}, 0
	} else {
		l.state, err = readState(slot.Value)
		if err != nil { // nothing is known of it any more: it goes on from now
			l.log.Error("what is kept of an endpoint cannot be read: what happened until now may be missing", "endpoint", l.name, "error", err)
			l.state, l.fresh = &state{Since: now, Address: l.address, Fence: slot.Fence}, true
		}
		l.revision = slot.Revision
	}
	exclusive, _ := store.(posthouse.Excluder)
	switch owner := l.state.Owner; {
	case owner == "" || owner == l.owner() || first && exclusive != nil && exclusive.Exclusive():
	default:
		gone, err := l.ledger.Core().Owners.IsExpired(ctx, owner)
		if err != nil || !gone {
			return false, err
		}
	}
	if l.fresh {
		l.state.Since = l.ledger.Now() // before the watch: what that has is not from before
		l.begin()
	}
	l.state.Owner, l.state.Fence = l.owner(), l.state.Fence+1
	if l.state.Address != l.address {
		l.state.Address, l.state.Gone = l.address, time.Time{}
	}
	switch err := l.save(ctx); {
	case errors.Is(err, errLost):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// save writes the state. It fails with errLost if another process has written since.
func (l *lease) save(ctx context.Context) error {
	b, err := json.Marshal(l.state)
	if err != nil {
		return err
	}
	slot, err := l.ledger.Store().Slot(ctx, stateKey(l.name), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: b, Revision: l.revision, Fence: l.state.Fence})
	switch {
	case errors.Is(err, posthouse.ErrConflict), errors.Is(err, posthouse.ErrFenced):
		return l.settle(ctx, b)
	case err == nil:
		l.revision = slot.Revision
	}
	return err
}

// settle finds out whether a write that found another revision than expected is there: the answer
// to it may have been lost.
func (l *lease) settle(ctx context.Context, wrote []byte) error {
	slot, err := l.ledger.Store().Slot(ctx, stateKey(l.name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	switch {
	case errors.Is(err, posthouse.ErrNotFound):
		return errLost
	case err != nil:
		return err
	case string(slot.Value) == string(wrote):
		l.revision = slot.Revision
		return nil
	}
	have, err := readState(slot.Value)
	if err == nil && have.Owner == l.owner() && have.Fence == l.state.Fence { // an earlier write of this process, with a lost answer
		l.revision = slot.Revision
		return posthouse.ErrUnknown
	}
	return errLost
}

// release gives the endpoint back, so that another process has it at once.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ledger.Core().Config.LeaseTTL)
	defer cancel()
	l.state.Owner = ""
	if err := l.save(ctx); err != nil && !errors.Is(err, errLost) {
		l.log.Warn("cannot give an endpoint back: another process has to wait for it", "endpoint", l.name, "error", err)
	}
}

// asked takes what is asked of the owner.
func (l *lease) asked(ctx context.Context) (*ask, error) {
	store := l.ledger.Store()
	slot, err := store.Slot(ctx, askKey(l.name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil {
		if errors.Is(err, posthouse.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	a := new(ask)
	if err := json.Unmarshal(slot.Value, a); err != nil {
		l.log.Error("what is asked of an endpoint cannot be read", "endpoint", l.name, "error", err)
		a = nil
	}
	l.apply(a)
	if err := l.save(ctx); err != nil { // before it is taken out: asked twice is done once
		return nil, err
	}
	_, err = store.Slot(ctx, askKey(l.name), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: slot.Revision})
	if errors.Is(err, posthouse.ErrConflict) {
		err = nil // more was asked: the next look finds it
	}
	return a, err
}

// apply does what is asked.
func (l *lease) apply(a *ask) {
	if a == nil {
		return
	}
	s := l.state
	if a.Replay != nil {
		s.Replay = a.Replay
	}
	if a.Resume {
		s.Gone = time.Time{}
		for _, p := range s.Pending {
			p.Next = l.ledger.Now()
		}
	}
}

// sleep waits, and reports whether ctx is still on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
