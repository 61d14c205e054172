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
	"github.com/posthouse/posthouse/ledger"
)

// Open makes the programs as the demo serves them. What they do are lines of the file effects.log
// in the data directory.
func Open(_ context.Context, env *app.Env) (*app.Set, error) {
	w := &World{Do: logTo(filepath.Join(env.Dir, "effects.log")), Spend: pause}
	programs, err := open(env.Ledger, w, 0)
	return &app.Set{Programs: programs, Next: "inbox", Notes: []string{"Demo", "a week that was made up, and a store that is gone when this process ends"}}, err
}

// open makes the programs over a Ledger. A wait that is longer than park parks its thread; 0 is
// what programs do by themselves.
func open(l *ledger.Ledger, w *World, park time.Duration) (all []posthouse.Program, err error) {
	add := func(p posthouse.Program, e error) { all, err = append(all, p), errors.Join(err, e) }
	add(openInvoice(l, w, park))
	add(openRefund(l, w))
	add(openContract(l, w, park))
	add(openNewsletter(l, w, park))
	return all, err
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
