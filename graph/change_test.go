package graph_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// A change that panics is an error of the call it was given to, and nothing of
// it is on record.
func TestPanicInAChangeIsAnError(t *testing.T) {
	l := newLedger(t)
	app := compile(t, single(visit("n"), graph.NodeOptions{}), l, nil)
	head := must.Get(app.Run(t.Context(), "t", trail{}))(t).Checkpoint
	before := len(history(t, app, "t"))
	panics := func(*trail) { panic("boom") }
	start := graph.NodeUpdate[trail]{Node: graph.Start}
	node, bad := graph.NodeUpdate[trail]{Node: "n"}, graph.NodeUpdate[trail]{Node: "n", Change: panics}
	for name, call := range map[string]func() error{
		"update": func() error { _, err := app.Update(t.Context(), "t", panics); return err },
		"fork":   func() error { _, err := app.Fork(t.Context(), head, panics); return err },
		"bulk": func() error {
			_, err := app.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[trail]{{start}, {bad}})
			return err
		},
		"bulk, beside": func() error {
			_, err := app.BulkUpdate(t.Context(), "t", [][]graph.NodeUpdate[trail]{{start}, {node, bad}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("it reached the caller: %v", v)
				}
			}()
			var e *engine.PanicError
			if err := call(); !errors.As(err, &e) || e.Value != "boom" {
				t.Fatal(err)
			}
			if n := len(history(t, app, "t")); n != before {
				t.Fatalf("%d checkpoints, there were %d", n, before)
			}
		})
	}
}
