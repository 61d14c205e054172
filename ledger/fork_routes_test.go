package ledger_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestPlanSaysHowTheNextNodesAreChosen: of a fork with another state the plan says whether they are kept. So does the
// plan of its resume.
func TestPlanSaysHowTheNextNodesAreChosen(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	at := func(thread, graph string, next ...string) posthouse.ID {
		return must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
			Graph: graph, Status: posthouse.StatusRunning, Next: next, State: posthouse.State{"a": {Codec: "json", Data: []byte("1")}},
		}}))(t).Checkpoint.ID
	}
	graph, flow, saved := at("t", "g", "pay", "ask"), at("u", "f", "f"), at("v", "")
	other := func(keep bool) *ledger.ForkOptions {
		return &ledger.ForkOptions{Patch: posthouse.State{"a": {Codec: "json", Data: []byte("2")}}, KeepNext: keep}
	}
	for name, c := range map[string]struct {
		source posthouse.ID
		o      *ledger.ForkOptions
		want   string
	}{
		"the same":           {graph, nil, ""},
		"the same, kept":     {graph, &ledger.ForkOptions{KeepNext: true}, ""},
		"another":            {graph, other(false), "again"},
		"another, kept":      {graph, other(true), "kept"},
		"a flow":             {flow, other(false), ""},
		"a saved checkpoint": {saved, other(false), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if p := must.Get(ledger.PlanFork(ctx, l, c.source, c.o))(t); p.Routes != c.want {
				t.Errorf("its routes are %q, want %q", p.Routes, c.want)
			}
			f := must.Get(l.Fork(ctx, c.source, c.o))(t)
			if len(f.Next) == 0 {
				return
			}
			if p := must.Get(ledger.PlanResume(ctx, l, f.Thread, f.Branch))(t); p.Fork.Routes != c.want {
				t.Errorf("the routes of its resume are %q, want %q", p.Fork.Routes, c.want)
			}
		})
	}
}

// TestForkKeepsNextAgain: a fork of a fork that kept its next nodes may keep them, too, in another thread and in this one.
func TestForkKeepsNextAgain(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	at := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Graph: "g", Status: posthouse.StatusRunning, Next: []string{"pay"}, State: posthouse.State{"a": {Codec: "json", Data: []byte("1")}},
	}}))(t).Checkpoint.ID
	for i, thread := range []string{"", "u", "w", ""} {
		data := []byte{byte('2' + i)}
		f := must.Get(l.Fork(ctx, at, &ledger.ForkOptions{Thread: thread, Patch: posthouse.State{"a": {Codec: "json", Data: data}}, KeepNext: true}))(t)
		again := must.Get(l.Get(ctx, f.ID))(t)
		if len(again.Program) != 1 || len(f.Program) != 1 {
			t.Errorf("fork %d has %v on record, and %v was returned", i, again.Program, f.Program)
		}
		at = f.ID
	}
}
