package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/posthouse/posthouse"
)

// A Memo is what an endpoint's channel keeps between messages about one gate or, where a message is
// about no gate, between the attempts of that message. It is kept beside the thread's log and goes with
// the thread. Only the process that has the endpoint writes it: a process that has lost the endpoint, and
// does not know yet, is refused. A nil Memo keeps nothing.
type Memo struct {
	store posthouse.Store
	key   posthouse.SlotKey
	fence uint64
}

// MaxMemo is the most bytes that a Memo keeps.
const MaxMemo = 64 << 10

// newMemo returns the memo of a message, nil for one that is about no thread.
func newMemo(store posthouse.Store, endpoint string, fence uint64, m *Message) *Memo {
	if m.Event.Data.Thread == "" {
		return nil
	}
	about := m.ID
	if g := m.Event.Data.Gate; g != nil {
		about = string(g.ID)
	}
	sum := sha256.Sum256([]byte(about))
	return &Memo{store, posthouse.SlotKey{Thread: m.Event.Data.Thread, Step: "$notify." + endpoint + "." + hex.EncodeToString(sum[:16])}, fence}
}

// Load returns what is kept, nil for nothing.
func (m *Memo) Load(ctx context.Context) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	slot, err := m.store.Slot(ctx, m.key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	return slot.Value, err
}

// Save keeps b, and nothing for an empty b. [posthouse.ErrFenced] if another process has had the endpoint
// since; [posthouse.ErrTooLarge] above [MaxMemo].
func (m *Memo) Save(ctx context.Context, b []byte) error {
	if m == nil {
		return nil
	}
	if len(b) > MaxMemo {
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "a channel keeps more than 64 KiB about one gate"}
	}
	op := posthouse.SlotOp{Verb: posthouse.SlotPut, Value: b, Revision: posthouse.AnyRevision, Fence: m.fence}
	if len(b) == 0 {
		op.Verb, op.Value = posthouse.SlotDelete, nil
	}
	_, err := m.store.Slot(ctx, m.key, op)
	return err
}
