package transfer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/posthouse/posthouse"
)

// storeSlot has the id of a store. No process has a name like it.
var storeSlot = posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: "$store"}

// StoreID returns the id of a store, "" if it has no id yet. A backup and a copy
// by [CopyStore] have the same id, since they can stand in for the store.
func StoreID(ctx context.Context, s posthouse.Store) (string, error) {
	slot, err := s.Slot(ctx, storeSlot, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return "", nil
	}
	if err == nil && len(slot.Value) != 32 {
		err = posthouse.Corrupt("the id of the store has %d bytes", len(slot.Value))
	}
	return string(slot.Value), err
}

// EnsureStoreID returns the id of a store, and gives it one if it has no id. Processes
// that do so at once all return the same id.
func EnsureStoreID(ctx context.Context, s posthouse.Store) (string, error) {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails, see crypto/rand
	return keepStoreID(ctx, s, hex.EncodeToString(id))
}

// keepStoreID gives a store an id unless it has one, and returns the one it has then.
func keepStoreID(ctx context.Context, s posthouse.Store, id string) (string, error) {
	have, err := StoreID(ctx, s)
	if err != nil || have != "" {
		return have, err
	}
	_, err = s.Slot(ctx, storeSlot, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(id)})
	switch {
	case errors.Is(err, posthouse.ErrConflict), errors.Is(err, posthouse.ErrUnknown):
		if have, e := StoreID(ctx, s); e == nil && have != "" {
			return have, nil
		}
		return "", err
	case err != nil:
		return "", err
	}
	return id, nil
}

// copyStoreID gives the target of a copy the id of its source, unless it has one.
func copyStoreID(ctx context.Context, from, to posthouse.Store) error {
	id, err := StoreID(ctx, from)
	if err == nil && id != "" {
		_, err = keepStoreID(ctx, to, id)
	}
	return err
}
