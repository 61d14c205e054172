package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// Load implements [task.Engine].
func (d *Dispatcher) Load(ctx context.Context, id task.ClaimID) ([]byte, error) {
	_, slot, err := d.claims.Find(ctx, id)
	return slot.Value, err
}

// Save implements [task.Engine].
func (d *Dispatcher) Save(ctx context.Context, id task.ClaimID, n uint64, value []byte) error {
	if len(value) > task.MaxSlot {
		return posthouse.TooLarge("slot", len(value), task.MaxSlot)
	}
	for {
		c, slot, err := d.claims.Find(ctx, id)
		if err != nil {
			return err
		}
		slot.Sealed, err = sealOf(ctx, d.ledger, c.Gate)
		if err != nil {
			return err
		}
		if n != 0 && n <= slot.Saves {
			return nil
		}
		slot.Value, slot.Saves = value, max(n, slot.Saves)
		err = d.slots.Write(ctx, c.Gate, &slot)
		if errors.Is(err, posthouse.ErrFenced) {
			return claims.Lost(id)
		}
		if !errors.Is(err, posthouse.ErrConflict) { // with it, another save came first, or another claim
			return err
		}
	}
}

// sealOf returns the generation of the data key that seals a task's slot, 0 in a thread that
// is not encrypted. It fails with [posthouse.ErrUnsupported] for a task without a slot.
func sealOf(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) (generation uint32, err error) {
	if g.Call.Limits.NoSlot {
		return 0, &posthouse.Error{Code: posthouse.CodeUnsupported, Field: "slot", Message: "is not there for task " + g.Call.Task, Hint: "unset NoSlot where it is handed out"}
	}
	info, err := l.Thread(ctx, g.Thread)
	if err != nil || !info.Sealed {
		return 0, err
	}
	return info.Generation, nil
}
