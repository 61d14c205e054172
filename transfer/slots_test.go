package transfer_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// TestNamedSlotsOfAStoreThatListsNone: an export and a copy bring the slots of the steps that
// their options name, where the store cannot list its slots, and only those.
func TestNamedSlotsOfAStoreThatListsNone(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(s posthouse.Store, step string) bool {
		_, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "t", Step: step}, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	from := struct{ posthouse.Store }{memstore.New()}
	led, err := ledger.Open(from, nil)
	must(err)
	_, err = led.Save(t.Context(), posthouse.Root("t", nil), nil)
	must(err)
	for _, step := range []string{"named", "other"} {
		_, err := from.Slot(t.Context(), posthouse.SlotKey{Thread: "t", Step: step}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x")})
		must(err)
	}
	var file bytes.Buffer
	_, err = transfer.Export(t.Context(), led, "t", &file, &transfer.ExportOptions{Slots: []string{"named"}})
	must(err)
	to := memstore.New()
	in, err := ledger.Open(to, nil)
	must(err)
	_, err = transfer.Import(t.Context(), in, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Unverified: true})
	must(err)
	copied := memstore.New()
	_, err = transfer.CopyStore(t.Context(), from, copied, &transfer.CopyStoreOptions{Slots: []string{"named"}})
	must(err)
	for what, s := range map[string]posthouse.Store{"export": to, "copy": copied} {
		if !has(s, "named") || has(s, "other") {
			t.Errorf("%s: named %t, other %t", what, has(s, "named"), has(s, "other"))
		}
	}
}
