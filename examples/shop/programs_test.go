package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
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
			store := ok[posthouse.Store](t)(open())
			defer store.Close()
			led := ok[*ledger.Ledger](t)(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))
			defer led.Close()
			app := ok[*graph.App[Refund]](t)(refund().Compile(led, nil))
			decide := func(r Refund, v posthouse.Verdict) *graph.Result[Refund] {
				out := ok[*graph.Result[Refund]](t)(app.Run(ctx, "t", r))
				ok[*posthouse.Gate](t)(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: v, By: "ann"}))
				return ok[*graph.Result[Refund]](t)(app.Resume(ctx, "t"))
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

func ok[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
