package dispatch_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestSlotsOfEncryptedThreads keeps nothing in the clear that a handler saves. The next
// attempt reads it, and what was sealed for one slot opens in no other.
func TestSlotsOfEncryptedThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{1}, 32)}, "k1")
		if err != nil {
			t.Fatal(err)
		}
		store := memstore.New()
		h := newHostWith(t, store, &ledger.Options{Cipher: keys}, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 9}}})
		h.run("t")
		h.run("u")
		w := h.connect("w1")
		secret := []byte("the card is 4711")
		for range 2 {
			c := h.claim(w)
			if err := h.d.Save(t.Context(), c.ID, 0, secret); err != nil {
				t.Fatal(err)
			}
			slot, err := store.Slot(t.Context(), posthouse.SlotKey{Thread: c.Thread, Step: c.Step}, posthouse.SlotOp{Verb: posthouse.SlotGet})
			if err != nil || bytes.Contains(slot.Value, secret[:8]) {
				t.Fatalf("Slot: %q, error %v", slot.Value, err)
			}
			if i, err := h.d.Task(t.Context(), c.ID.Gate); err != nil || i.Saved != len(secret) {
				t.Errorf("Task: %+v, error %v", i, err)
			}
			h.resolve(c, task.Verdict{Action: task.RetryAfter, Reason: "x", Delay: task.MinRetry})
		}
		c := h.claim(w)
		if v, err := h.d.Load(t.Context(), c.ID); err != nil || !bytes.Equal(v, secret) {
			t.Errorf("Load: %q, error %v", v, err)
		}
		if err := h.d.Save(t.Context(), c.ID, 0, nil); err != nil {
			t.Error(err)
		}
		if v, err := h.d.Load(t.Context(), c.ID); err != nil || v != nil {
			t.Errorf("cleared: %q, %v", v, err)
		}

		own := encryption.DataKeyOf{Thread: "t", Generation: 1}
		sealed, err := h.l.Core().Vault.SealSlot(t.Context(), own, "1/f/get", secret)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := h.l.Core().Vault.OpenSlot(t.Context(), own, "1/f/get", sealed); err != nil || !bytes.Equal(v, secret) {
			t.Errorf("%q, %v", v, err)
		}
		if _, err := h.l.Core().Vault.OpenSlot(t.Context(), own, "1/f/put", sealed); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("in another slot: %v", err)
		}
		if _, err := h.l.Core().Vault.OpenSlot(t.Context(), encryption.DataKeyOf{Thread: "u", Generation: 1}, "1/f/get", sealed); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("in another thread: %v", err)
		}
	})
}
