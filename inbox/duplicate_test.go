package inbox_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// others returns what the duplicates of a gate are.
func (d *desk) others(id posthouse.ID) []inbox.Duplicate {
	d.t.Helper()
	g := must.Get(d.Gate(d.t.Context(), id))(d.t)
	return must.Get(inbox.Duplicates(d.t.Context(), d.Ledger, g))(d.t)
}

// TestAForkAndItsSourceAskTheSame: each of two branches that ask the same names the other, until one of
// them waits no more. A yes is said with how far its effect has come.
func TestAForkAndItsSourceAskTheSame(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	pay := posthouse.Gate{Name: "pay", Task: "1/pay", Text: "Pay 1250.00?\nto Hosting", Uses: 1}
	first := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning}}))(t)
	main := d.ask("t", "", pay)
	if have := d.others(main); len(have) != 0 {
		t.Fatalf("one branch has %+v", have)
	}
	fork := must.Get(d.Fork(ctx, first.Checkpoint.ID, &ledger.ForkOptions{By: "olga"}))(t)
	head := fork.ID
	cheap := pay
	cheap.Text = "Pay 77.77?"
	c := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Branch: fork.Branch, Head: &head, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{
		cheap, {Name: "pay", Task: "1/other"}, {Name: "ship", Task: "1/pay"},
	}}))(t)
	of := c.Gates[0].ID
	have := d.others(main)
	if len(have) != 1 || have[0].Gate != of || have[0].Branch != fork.Branch || have[0].Intent != "Pay 77.77?" || have[0].State != inbox.Open || have[0].Status != grants.Proposed {
		t.Fatalf("main has %+v", have)
	}
	if have := d.others(of); len(have) != 1 || have[0].Gate != main || have[0].Branch != "main" || have[0].Intent != "Pay 1250.00?" {
		t.Fatalf("the fork has %+v", have)
	}
	if have := d.others(c.Gates[2].ID); len(have) != 0 {
		t.Errorf("another question has %+v", have)
	}
	_, err := d.Decide(ctx, main, posthouse.Decision{Verdict: posthouse.Approve, By: "dana"})
	must.Do(t, err)
	if have := d.others(of); len(have) != 1 || have[0].State != inbox.Decided || have[0].By != "dana" || have[0].Status != grants.Decided {
		t.Errorf("after a yes the fork has %+v", have)
	}
	if have := d.others(main); len(have) != 0 {
		t.Errorf("what is decided has %+v", have)
	}
}

// TestWhatLedToAQuestionIsNoDuplicate: a question of the name that was answered before the branches
// parted counts for both, and one that was refused has no effect.
func TestWhatLedToAQuestionIsNoDuplicate(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	before := d.ask("t", "", posthouse.Gate{Name: "pay", Task: "1/pay", Uses: 1})
	_, err := d.Decide(ctx, before, posthouse.Decision{Verdict: posthouse.Approve, By: "dana"})
	must.Do(t, err)
	next := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning}}))(t)
	fork := must.Get(d.Fork(ctx, next.Checkpoint.ID, &ledger.ForkOptions{By: "olga"}))(t)
	again := d.ask("t", "", posthouse.Gate{Name: "pay", Task: "2/pay", Uses: 1})
	c := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Branch: fork.Branch, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "pay", Task: "2/pay", Uses: 1}}}))(t)
	of := c.Gates[0].ID
	if have := d.others(of); len(have) != 1 || have[0].Gate != again {
		t.Errorf("the fork has %+v", have)
	}
	_, err = d.Decide(ctx, again, posthouse.Decision{Verdict: posthouse.Reject, By: "dana"})
	must.Do(t, err)
	if have := d.others(of); len(have) != 0 {
		t.Errorf("after a no the fork has %+v", have)
	}
}
