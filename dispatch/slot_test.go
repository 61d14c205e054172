package dispatch_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestTheLargestSlot fits into every store, with the longest names and encrypted, too.
func TestTheLargestSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{1}, 32)}, "k1")
		if err != nil {
			t.Fatal(err)
		}
		h := newHostWith(t, memstore.New(), &ledger.Options{Cipher: keys}, runs.RemoteOptions{})
		h.run("t")
		c := h.claim(h.connect(strings.Repeat("<", posthouse.MaxID)))
		want := bytes.Repeat([]byte("x"), task.MaxSlot)
		if err := h.d.Save(t.Context(), c.ID, 1, want); err != nil {
			t.Fatal(err)
		}
		if have, err := h.d.Load(t.Context(), c.ID); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%d bytes, %v", len(have), err)
		}
		if err := h.d.Save(t.Context(), c.ID, 2, append(want, 'x')); !errors.Is(err, posthouse.ErrTooLarge) {
			t.Errorf("one more: %v", err)
		}
	})
}

// TestAnEmptySlot is not one that nothing was saved to, nor one that was cleared.
func TestAnEmptySlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		h.run("t")
		c := h.claim(h.connect("w"))
		if have, err := h.d.Load(t.Context(), c.ID); err != nil || have != nil {
			t.Errorf("nothing saved: %q, %v", have, err)
		}
		for n, want := range [][]byte{{}, []byte("x"), {}, nil} {
			if err := h.d.Save(t.Context(), c.ID, uint64(n+1), want); err != nil {
				t.Fatal(err)
			}
			if have, err := h.d.Load(t.Context(), c.ID); err != nil || string(have) != string(want) || (have == nil) != (want == nil) {
				t.Errorf("saved %#v, loaded %#v, %v", want, have, err)
			}
		}
	})
}
