package ledger_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestOldForkKeepsTheFailureOfItsTask: a fork that an earlier version made inherited the failure of its source's task.
// It still does, its plan says so, and a fork of it made now does not.
func TestOldForkKeepsTheFailureOfItsTask(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	done := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"call"}},
		Gates: []posthouse.Gate{{Name: "task:price", Task: "1/call", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "price"}}},
	}))(t)
	failed := done.Gates[0].ID
	_, _, err := commit.ResolveTask(ctx, l.Core(), commit.GateRef{Gate: failed}, &commit.TaskOutcome{By: "worker:w", Failed: "no price"})
	must.Do(t, err)
	head := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"call"}, Error: "no price"}}))(t).Checkpoint

	none := posthouse.ID("")
	old := must.Get(commit.Run(ctx, l.Core(), &commit.Plan{Thread: "t", Branch: "old", Head: &none, Checkpoint: &posthouse.Change{
		Parent: head.ID, Kind: posthouse.KindFork, Status: posthouse.StatusInterrupted, Next: head.Next, Source: &posthouse.Source{Thread: "t", ID: head.ID},
	}}))(t).Header()
	knows := func(h *posthouse.Header) int {
		x := must.Get(l.Core().Executions(ctx, h))(t)["1/call"]
		if x == nil {
			return 0
		}
		return len(x.Gates)
	}
	if knows(old) != 1 {
		t.Error("the old fork does not know of the failure")
	}
	p := must.Get(ledger.PlanResume(ctx, l, "t", "old"))(t).Fork
	if len(p.Asks) != 0 || len(p.Decided) != 1 || p.Decided[0].Gate != failed || p.Decided[0].Verdict != posthouse.Reject {
		t.Errorf("the old fork asks %+v, and answered is %+v", p.Asks, p.Decided)
	}
	for _, source := range []posthouse.ID{head.ID, old.ID} {
		p := must.Get(ledger.PlanFork(ctx, l, source, nil))(t)
		if len(p.Decided) != 0 || len(p.Asks) != 1 || p.Asks[0].Gate != failed || p.Asks[0].Failed != "no price" || p.Asks[0].Open {
			t.Errorf("a fork asks %+v, and answered is %+v", p.Asks, p.Decided)
		}
		f := must.Get(l.Fork(ctx, source, nil))(t)
		if knows(&f.Header) != 0 {
			t.Error("a new fork knows of the failure")
		}
		p = must.Get(ledger.PlanResume(ctx, l, "t", f.Branch))(t).Fork
		if len(p.Asks) != 1 || p.Asks[0].Failed != "no price" || len(p.Decided) != 0 {
			t.Errorf("the new fork asks %+v, and answered is %+v", p.Asks, p.Decided)
		}
		p = must.Get(ledger.PlanFork(ctx, l, f.ID, nil))(t)
		if len(p.Asks) != 0 || len(p.Decided) != 0 {
			t.Errorf("a fork of the fork asks %+v, and answered is %+v", p.Asks, p.Decided)
		}
	}
	early := must.Get(ledger.PlanFork(ctx, l, done.Checkpoint.ID, nil))(t)
	if len(early.Asks) != 1 || !early.Asks[0].Open || early.Asks[0].Failed != "no price" {
		t.Errorf("where it was handed out a fork asks %+v", early.Asks)
	}
}
