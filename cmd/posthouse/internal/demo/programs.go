package demo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// Open makes the programs as the demo serves them. Their deeds are lines of the file effects.log
// in the data directory.
func Open(_ context.Context, env *app.Env) (*app.Set, error) {
	a, err := open(env.Ledger, &World{Do: logTo(filepath.Join(env.Dir, "effects.log")), Spend: pause})
	if err != nil {
		return nil, err
	}
	return &app.Set{Programs: a.programs(), Next: "inbox", Notes: []string{"Demo", "a week that was made up, and a store that is gone when this process ends"}}, nil
}

// apps are the programs over one Ledger.
type apps struct {
	invoice    *graph.App[Invoice]
	refund     *coord.Coordinator
	contract   *graph.App[Contract]
	research   *graph.App[Research]
	newsletter *flow.App[Issue, Report]
	erasure    *flow.App[Erasure, string]
	reconcile  *flow.App[Statement, string]
}

func open(l *ledger.Ledger, w *World) (*apps, error) {
	var a apps
	var errs [7]error
	a.invoice, errs[0] = openInvoice(l, w)
	a.refund, errs[1] = openRefund(l, w)
	a.contract, errs[2] = openContract(l, w)
	a.research, errs[3] = openResearch(l, w)
	a.newsletter, errs[4] = openNewsletter(l, w)
	a.erasure, errs[5] = openErasure(l, w)
	a.reconcile, errs[6] = openReconcile(l, w)
	return &a, errors.Join(errs[:]...)
}

func (a *apps) programs() []posthouse.Program {
	return []posthouse.Program{a.invoice, a.refund, a.contract, a.research, a.newsletter, a.erasure, a.reconcile}
}

// logTo returns a function that writes deeds to a file, a line each.
func logTo(path string) func(context.Context, Deed) error {
	var mu sync.Mutex
	done := map[string]bool{}
	return func(_ context.Context, d Deed) error {
		mu.Lock()
		defer mu.Unlock()
		if done[d.Key] {
			return nil
		}
		line, err := json.Marshal(d)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(append(line, '\n'))
		done[d.Key] = err == nil
		return errors.Join(err, f.Close())
	}
}

// pause waits for a quarter of the time that the world would take.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d / 4)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
