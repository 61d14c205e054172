package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestASecondRequestHasNoGrantOfTheFirst: a thread gets a second request after a paid one,
// and it is rejected. Nothing is paid, and the thread is done.
func TestASecondRequestHasNoGrantOfTheFirst(t *testing.T) {
	for name, open := range map[string]func() (posthouse.Store, error){
		"memory": func() (posthouse.Store, error) { return memstore.New(), nil },
		"sqlite": func() (posthouse.Store, error) {
			return sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "p.db"), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			store := must.Get(open())(t)
			defer store.Close()
			led := must.Get(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))(t)
			defer led.Close()
			app := must.Get(refund().Compile(led, nil))(t)
			decide := func(r Refund, v posthouse.Verdict) *graph.Result[Refund] {
				out := must.Get(app.Run(ctx, "t", r))(t)
				must.Get(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: v, By: "ann"}))(t)
				return must.Get(app.Resume(ctx, "t"))(t)
			}
			if out := decide(Refund{Order: "7", Amount: 40}, posthouse.Approve); out.State.Receipt == "" {
				t.Errorf("the first request comes to %+v", out.State)
			}
			out := decide(Refund{Order: "8", Amount: 5000}, posthouse.Reject)
			if out.Status != posthouse.StatusDone || out.State.Grant != "" || out.State.Receipt != "" {
				t.Errorf("the rejected one is %s: %+v", out.Status, out.State)
			}
		})
	}
}
