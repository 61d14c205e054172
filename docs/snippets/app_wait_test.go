package snippets_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestWaitOfThePage begins a run as JSON, and waits for it while a runner goes on with it.
func TestWaitOfThePage(t *testing.T) {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	type order struct {
		Order string `json:"order"`
	}
	packing, err := flow.New("pack", func(_ context.Context, o order) (string, error) { return "packed " + o.Order, nil }).Open(led, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{packing}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	err = func() error {
		//doc:wait
		begun, err := packing.StartJSON(ctx, "order-1234", json.RawMessage(`{"order":"1234"}`), nil)
		if err != nil {
			return err
		}
		res, err := packing.Wait(ctx, begun.Thread)
		//doc:end
		if err == nil && res.Output != "packed 1234" {
			t.Errorf("it says %+v", res)
		}
		return err
	}()
	if err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
