package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stubborn store refuses to write a slot that has a revision, though nobody
// else writes it.
type stubborn struct{ posthouse.Store }

func (s stubborn) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotPut && op.Revision > 0 && op.Revision != posthouse.AnyRevision {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeConflict, Message: "no"}
	}
	return s.Store.Slot(ctx, key, op)
}

// TestSessionsGiveUpOnALastingConflict does not try for ever.
func TestSessionsGiveUpOnALastingConflict(t *testing.T) {
	x := NewClients(stubborn{memstore.New()}, time.Now, time.Hour, 100)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where it never ended
	defer cancel()
	token, _, err := x.Create(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Update(ctx, token, func(*Session) {}); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("an update: %v", err)
	}
	if err := x.Remove(ctx, token); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("a removal: %v", err)
	}
}
