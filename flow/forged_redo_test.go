package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// Somebody without the key answers that an unknown payment is to be done again: nothing is paid, and people are asked again.
func TestForgedRedo(t *testing.T) {
	ctx, store, key := t.Context(), memstore.New(), must.Get(sign.Generate())(t)
	server := must.Get(ledger.Open(store, &ledger.Options{Signer: key, Validate: gate.Validator()}))(t)
	paid := 0
	pay := flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		g, err := gate.Propose(ctx, gate.Question{Name: "pay?"}, amount)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", g, func(context.Context, int) (string, error) {
			paid++
			return "", errors.New("EOF")
		})
	})
	app := must.Get(pay.Open(server, nil))(t)
	out := must.Get(app.Run(ctx, "t", 40))(t)
	must.Get(server.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}))(t)
	out = must.Get(app.Resume(ctx, "t"))(t)
	forger := must.Get(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))(t)
	must.Get(forger.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Redo, By: "the-cfo"}))(t)
	server = must.Get(ledger.Open(store, &ledger.Options{Signer: key, Validate: gate.Validator()}))(t)
	app = must.Get(pay.Open(server, nil))(t)
	out, err := app.Resume(ctx, "t")
	if err != nil || paid != 1 || len(out.Waiting) != 1 || !out.Waiting[0].AsksOutcome() {
		t.Errorf("paid %d times, %+v, %v", paid, out, err)
	}
}
