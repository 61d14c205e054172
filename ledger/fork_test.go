package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// A fork into another thread brings along what each task has on record, in its
// order, with questions of one name in two tasks: those that were answered as
// well as those that are open again.
func TestForkBringsTheOrderOfEachTask(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	commit := func(d ledger.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread = "t"
		return must.Get(l.Commit(ctx, &d))(t)
	}
	did := func(task, name string) {
		commit(ledger.Draft{Steps: []posthouse.Step{{Task: task, Name: name, Value: posthouse.Value{Codec: "json", Data: []byte("1")}}}})
	}
	wait := func(tasks ...string) *posthouse.Committed {
		d := ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}}}
		for _, task := range tasks {
			d.Gates = append(d.Gates, posthouse.Gate{Task: task, Name: "q"}, posthouse.Gate{Task: task, Name: "nap", Kind: posthouse.GateTimer, ExpiresAt: time.Now().Add(time.Hour)})
		}
		return commit(d)
	}
	commit(ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"n"}}})
	did("1/a", "first")
	did("1/b", "first")
	did("1/b", "second")
	asked := wait("1/a", "1/b")
	did("1/a", "second")
	did("1/a", "third")
	for _, g := range asked.Gates[:2] {
		if g.Name == "nap" {
			must.Get(l.Withdraw(ctx, g.ID, ledger.Withdrawal{By: "bob", Operator: true}))(t)
			continue
		}
		must.Get(l.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}))(t)
	}
	d := ledger.Draft{Keep: []posthouse.ID{asked.Gates[2].ID, asked.Gates[3].ID}}
	d.Checkpoint = &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}}
	last := commit(d).Checkpoint
	did("1/b", "behind the fork")

	want := "1/a: 3 steps, q after 1 (decided true), nap after 1 (decided true); 1/b: 2 steps, q after 2 (decided false), nap after 2 (decided false); "
	for i, o := range []ledger.ForkOptions{{Branch: "branch"}, {Thread: "away"}, {Thread: "further"}} {
		f := must.Get(l.Fork(ctx, last.ID, &o))(t)
		if o.Thread != "" {
			last = &f.Header // the next is a fork of a fork
		}
		all := must.Get(l.Core().Executions(ctx, &f.Header))(t)
		have := ""
		for _, task := range []string{"1/a", "1/b"} {
			x := all[task]
			have += fmt.Sprintf("%s: %d steps", task, len(x.Steps))
			for _, g := range x.Gates {
				have += fmt.Sprintf(", %s after %d (decided %v)", g.Name, x.StepsBefore(g.ID), g.Decision != nil)
			}
			have += "; "
		}
		if have != want {
			t.Errorf("%d: %s\nwant %s", i, have, want)
		}
		open := 0
		for _, err := range l.Gates(ctx, ledger.GateQuery{Thread: f.Thread, All: true}) {
			if err != nil {
				t.Fatal(err)
			}
			open++
		}
		if n := map[string]int{"t": 4}[f.Thread]; open != max(n, 2) {
			t.Errorf("%d: %d gates are open", i, open)
		}
	}
}
