package threads_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// TestWorkersOfAnEffectAreShown: a payment that a worker makes at its second attempt. The
// grant and the log say which worker had it, and that the first attempt did not act.
func TestWorkersOfAnEffectAreShown(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	engine, err := dispatch.New(d.Ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(engine, &worker.Options{Name: "till"})
	if err != nil {
		t.Fatal(err)
	}
	w.HandleFunc("transfer", func(k worker.Task) error {
		if k.Attempt() == 1 {
			return worker.RetryAfter(gate.NotDone(errors.New("the bank is busy")), 0)
		}
		return k.Complete("paid")
	})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, run := range []func(context.Context) error{engine.Run, w.Run} {
		all.Go(func() { run(ctx) })
	}
	defer all.Wait()
	defer stop()

	g := d.Ask("t", "abroad")
	over := d.Ledger.Watch(ctx, ledger.WatchQuery{Thread: "t", Cursor: "now"})
	d.Run(0, "approve", string(g))
	for e, err := range over {
		if err != nil {
			t.Fatal(err)
		}
		if c := e.Checkpoint; c != nil && c.Status == posthouse.StatusDone {
			break
		}
	}
	out := d.Run(0, "grant", string(g))
	clitest.Wants(t, "the grant", out, "transfer  executed", "worker:till was given it", "it did not act", "it acted")
	clitest.Wants(t, "the log", d.Run(0, "log", "t"), "transfer  executed", "at worker:till")
	r, err := sign.Verify(t.Context(), d.Ledger.Store(), &sign.Ring{}, &sign.VerifyOptions{RequireGrants: true})
	if err != nil || len(r.Faults) > 0 || r.Granted != 1 || r.AtWorkers != 1 || r.Attempts != 2 || r.Unknown != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}
