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
)

// A process that was killed gave its endpoint to nobody. Over a store that only one process has open,
// the next one takes it at once, and tells what happened in between: a lease of an hour would show
// otherwise.
func TestAfterAKillTheEndpointIsFreeAtOnce(t *testing.T) {
	store := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil))(t)
	defer func() { must.Do(t, store.Close()) }()
	led := must.Get(ledger.Open(store, &ledger.Options{LeaseTTL: time.Hour}))(t)
	defer func() { must.Do(t, led.Close()) }()
	key := posthouse.SlotKey{Thread: "$notify", Step: "state-ops"}
	killed := must.Get(json.Marshal(map[string]any{"owner": "killed", "fence": 7, "since": led.Now()}))(t)
	must.Get(store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: killed, Fence: 7}))(t)
	must.Get(led.Commit(t.Context(), &ledger.Draft{
		Thread: "order-7", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund"}},
	}))(t)

	told := make(chan string, 1)
	r := &receiver{answer: func(m *notify.Message) error { told <- m.Event.Data.Gate.Name; return nil }}
	n := must.Get(notify.New(led, []notify.Endpoint{{Name: "ops", Channel: r}}, nil))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- n.Run(ctx) }()
	if name := <-told; name != "refund" {
		t.Errorf("told of %q", name)
	}
	cancel()
	must.Do(t, <-done)
	slot := must.Get(store.Slot(t.Context(), key, posthouse.SlotOp{}))(t)
	var kept struct {
		Owner string `json:"owner"`
		Fence uint64 `json:"fence"`
		Sent  uint64 `json:"delivered"`
	}
	must.Do(t, json.Unmarshal(slot.Value, &kept))
	if kept.Owner != "" || kept.Fence != 8 || kept.Sent != 1 {
		t.Errorf("kept is %s, want it given back under the next fence, with one message delivered", slot.Value)
	}
}
