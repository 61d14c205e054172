package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stubborn store refuses to write a slot that has a revision, though it has no
// other writer.
type stubborn struct{ posthouse.Store }

func (s stubborn) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotPut && op.Revision > 0 && op.Revision != posthouse.AnyRevision {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeConflict, Message: "no"}
	}
	return s.Store.Slot(ctx, key, op)
}

// TestSessionsGiveUpOnALastingConflict does not try for ever.
func TestSessionsGiveUpOnALastingConflict(t *testing.T) {
	x := NewStore(stubborn{memstore.New()}, time.Now, time.Hour, 100)
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

// TestClientsHaveShares: one principal's new sessions end only sessions of the same
// principal. The index that an earlier version wrote is read.
func TestClientsHaveShares(t *testing.T) {
	store := memstore.New()
	now := time.Unix(1700000000, 0)
	x := NewStore(store, func() time.Time { return now }, time.Hour, 16*8)
	old := keyOf("old")
	put := func(key posthouse.SlotKey, value string) {
		t.Helper()
		if _, err := store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	put(posthouse.SlotKey{Thread: slotsThread, Step: "index-" + old[:1]}, fmt.Sprintf(`{%q:%d}`, old, now.Add(time.Hour).UnixMilli()))
	put(slotOf(old), `{"principal":"olga","createdAt":"2023-11-14T22:13:20Z","lastSeen":"2023-11-14T22:13:20Z"}`)
	create := func(who string) string {
		t.Helper()
		now = now.Add(time.Millisecond)
		token, _, err := x.Create(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	there := func(token, who string) bool {
		t.Helper()
		c, err := x.Restore(t.Context(), token, who)
		if err != nil {
			t.Fatal(err)
		}
		return c != nil
	}
	alice, first := create("alice"), create("mallory")
	last := ""
	for range 500 {
		last = create("mallory")
	}
	if !there(alice, "alice") || !there("old", "olga") || !there(last, "mallory") {
		t.Errorf("after mallory's: alice %v, olga %v, mallory's last %v", there(alice, "alice"), there("old", "olga"), there(last, "mallory"))
	}
	if there(first, "mallory") {
		t.Error("mallory's first is still there")
	}
	n := 0
	for s, err := range store.Slots(t.Context(), slotsThread) {
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Key.Step) == 64 {
			n++
		}
	}
	if n > 16*2+2 {
		t.Errorf("%d sessions are kept, want at most a quarter for mallory", n)
	}
}
