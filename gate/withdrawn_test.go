package gate_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A program reads what the execution did that a new input withdrew: results, and effects under their
// grants. The next input's execution is told all since the last one that was done.
func TestReadWithdrawn(t *testing.T) {
	sqlite, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sqlite.Close()
	for name, store := range map[string]posthouse.Store{"memory": memstore.New(), "sqlite": sqlite} {
		t.Run(name, func(t *testing.T) {
			led, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
			if err != nil {
				t.Fatal(err)
			}
			defer led.Close()
			var told []gate.Withdrawn
			app, err := flow.New("deal", func(ctx context.Context, pays bool) (string, error) {
				told, err = step.Do(ctx, "withdrawn", gate.ReadWithdrawn)
				if err != nil || !pays {
					return "told", err
				}
				if _, err := step.Do(ctx, "look up", func(context.Context) (string, error) { return "order 7", nil }); err != nil {
					return "", err
				}
				for _, amount := range []int{10, 20} {
					grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, amount)
					if err != nil {
						return "", err
					}
					if _, err := gate.Act(ctx, "pay", grant, func(context.Context, int) (string, error) { return "receipt", nil }); err != nil {
						return "", err
					}
				}
				return "paid", nil
			}).Open(led, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.Run(t.Context(), "t", true); err != nil || len(told) != 0 {
				t.Fatalf("%+v, %v", told, err)
			}
			info, err := led.Thread(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			first := info.Waiting[0].ID
			if _, err := led.Decide(t.Context(), first, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}); err != nil {
				t.Fatal(err)
			}
			if _, err := app.Resume(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			if _, err := app.Run(t.Context(), "t", false, flow.RunOptions{Withdraw: true}); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, w := range told {
				names = append(names, w.Name+" "+string(w.Status)+" "+string(w.Result)+" "+string(w.Grant))
			}
			want := []string{"withdrawn executed null ", `look up executed "order 7" `, `pay executed "receipt" ` + string(first)}
			if !reflect.DeepEqual(names, want) || told[2].Status != grants.Executed {
				t.Errorf("it is told %q, want %q", names, want)
			}
			if _, err := app.Run(t.Context(), "t", false); err != nil || len(told) != 0 {
				t.Errorf("after a run that is done, it is told %+v, %v", told, err)
			}
		})
	}
	if _, err := gate.ReadWithdrawn(t.Context()); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("outside of a task: %v", err)
	}
}
