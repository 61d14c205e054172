package claims

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/internal/taskslot"
)

// A Slot is what a task's slot in the store says, with the value opened.
type Slot struct {
	taskslot.Record
	Fence uint64 // of the newest claim
}

// IsClaimed reports whether a session has the attempt of a gate.
func (s *Slot) IsClaimed(g *posthouse.Gate) bool { return s.Gate == g.ID && s.Session != "" }

// NextFence returns the fence of the next claim of a gate. A slot that was deleted refuses
// fences that it has seen, and does not tell them. They were below this one, because the log has
// gone on since, and no gate is claimed a million times.
func (s *Slot) NextFence(g *posthouse.Gate) uint64 {
	if s.Revision != 0 {
		return s.Fence + 1
	}
	return g.Seq<<20 + 1
}

// Slots read and write the slots of tasks.
type Slots struct{ core *core.Core }

// NewSlots returns the slots of a store.
func NewSlots(c *core.Core) *Slots { return &Slots{c} }

// Read returns a task's slot. One that is not there, or is another call's, is empty.
func (s *Slots) Read(ctx context.Context, g *posthouse.Gate) (Slot, error) {
	empty := Slot{Record: taskslot.Record{Call: g.Call.ID}}
	kept, err := s.core.Store.Slot(ctx, taskslot.Key(g), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return empty, nil
	}
	empty.Revision, empty.Fence = kept.Revision, kept.Fence
	if err != nil {
		return empty, err
	}
	var r taskslot.Record
	if err := r.Decode(kept.Value); err != nil {
		return empty, posthouse.Corrupt("slot %q of thread %q is not a task's: %v", taskslot.Step(g), g.Thread, err)
	}
	if r.Call != g.Call.ID {
		return empty, nil
	}
	if r.Sealed > 0 && r.Value != nil {
		r.Value, err = s.core.Vault.OpenSlot(ctx, encryption.DataKeyOf{Thread: g.Thread, Generation: r.Sealed}, taskslot.Step(g), r.Value)
		if err != nil {
			return empty, err
		}
	}
	r.Revision = kept.Revision
	return Slot{Record: r, Fence: kept.Fence}, nil
}

// Write writes a task's slot, if its revision is still the one that was read, under the slot's
// fence. [posthouse.ErrConflict] or [posthouse.ErrFenced] if another call was faster.
func (s *Slots) Write(ctx context.Context, g *posthouse.Gate, slot *Slot) error {
	kept := slot.Record
	if kept.Sealed > 0 && kept.Value != nil {
		sealed, err := s.core.Vault.SealSlot(ctx, encryption.DataKeyOf{Thread: g.Thread, Generation: kept.Sealed}, taskslot.Step(g), kept.Value)
		if err != nil {
			return err
		}
		kept.Value = sealed
	}
	value, err := kept.Encode()
	if err != nil {
		return err
	}
	_, err = s.core.Store.Slot(ctx, taskslot.Key(g), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: slot.Revision, Fence: slot.Fence})
	return err
}

// IsUnreadable reports whether an error says that stored bytes are damaged, or that their key is
// not at hand: another look would find the same.
func IsUnreadable(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed)
}

// IsTaken reports whether an error says that another call has written a slot.
func IsTaken(err error) bool {
	return errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrFenced)
}
