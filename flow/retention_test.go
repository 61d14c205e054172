package flow_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// Checkpoints of steps may go while the flow is in their middle: it keeps what
// it recorded, also once the bodies are gone.
func TestRetentionInTheMiddleOfAFlow(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	f := flow.New("order", func(ctx context.Context, in string) (string, error) {
		for i := range 10 {
			if _, err := w.do(ctx, fmt.Sprint("s", i)); err != nil {
				return "", err
			}
		}
		if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ok"}); err != nil {
			return "", err
		}
		return in, nil
	})
	open := func() *ledger.Ledger {
		return must.Get(ledger.Open(w.store, &ledger.Options{Now: w.clock, MaxCheckpoints: 3}))(t)
	}
	l := open()
	res, err := must.Get(f.Open(l, nil))(t).Run(ctx, "t", "book")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	if _, err := retain.Run(ctx, l, retain.Policy{MaxPerThread: 1, Graph: "order"}, nil); err != nil {
		t.Fatal(err)
	}
	approve(t, l, res.Waiting[0].ID)
	a := must.Get(f.Open(open(), nil))(t)
	if n := len(must.Get(collect(a.History(ctx, "t")))(t)); n > 4 {
		t.Fatalf("%d checkpoints: nothing was removed", n)
	}
	res, err = a.Resume(ctx, "t")
	if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "book" {
		t.Fatal(res.Output)
	}
	if len(w.log) != 10 {
		t.Fatal("done again:", w.log)
	}
}
