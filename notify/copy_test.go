package notify_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/transfer"
)

// A cursor of SQLite is a number, which another database takes as its own: a copy does not have it, and
// an endpoint there is told of what it missed.
func TestACopyHasNoCursorOfItsSource(t *testing.T) {
	open := func() *sqlitestore.Store {
		store := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil))(t)
		t.Cleanup(func() { must.Do(t, store.Close()) })
		return store
	}
	from, to := open(), open()
	led := must.Get(ledger.Open(from, nil))(t)
	defer func() { must.Do(t, led.Close()) }()
	at := led.Now().Add(-time.Hour)
	key := posthouse.SlotKey{Thread: "$notify", Step: "state-ops"}
	kept := must.Get(json.Marshal(map[string]any{"fence": 7, "since": at, "at": at, "cursor": "100000", "delivered": 1 << 60}))(t)
	must.Get(from.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: kept, Fence: 7}))(t)
	must.Get(led.Commit(t.Context(), &ledger.Draft{
		Thread: "order-7", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund"}},
	}))(t)
	must.Get(transfer.CopyStore(t.Context(), from, to, nil))(t)

	slot := must.Get(to.Slot(t.Context(), key, posthouse.SlotOp{}))(t)
	var have struct {
		Cursor    string    `json:"cursor"`
		At        time.Time `json:"at"`
		Delivered uint64    `json:"delivered"`
	}
	must.Do(t, json.Unmarshal(slot.Value, &have))
	if have.Cursor != "" || !have.At.Equal(at) || have.Delivered != 1<<60 {
		t.Fatalf("the copy has %s, want all but the cursor", slot.Value)
	}
	copied := must.Get(ledger.Open(to, nil))(t)
	defer func() { must.Do(t, copied.Close()) }()
	told := make(chan string, 1)
	r := &receiver{answer: func(m *notify.Message) error { told <- m.Event.Data.Gate.Name; return nil }}
	n := must.Get(notify.New(copied, []notify.Endpoint{{Name: "ops", Channel: r}}, nil))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- n.Run(ctx) }()
	if name := <-told; name != "refund" {
		t.Errorf("told of %q", name)
	}
	cancel()
	must.Do(t, <-done)
}
