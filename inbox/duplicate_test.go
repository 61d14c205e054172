package inbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
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

// TestAForkInAThreadOfItsOwnAsksTheSame: threads that were forked or copied from one warn of each other and of it,
// by their names, until one of them has a no. An answer that they had before they parted, or a copy of one, does not count.
func TestAForkInAThreadOfItsOwnAsksTheSame(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	pay := posthouse.Gate{Name: "pay", Task: "1/pay", Text: "Pay 1250.00?", Uses: 1}
	first := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Run: "run-1"}}))(t)
	wait := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Run: "run-1"}, Gates: []posthouse.Gate{pay}}))(t)
	main := wait.Gates[0].ID
	early := must.Get(d.Fork(ctx, first.Checkpoint.ID, &ledger.ForkOptions{Thread: "early"}))(t)
	c := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "early", Head: &early.ID, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{pay, {Name: "ship", Task: "1/pay"}}}))(t)
	of := c.Gates[0].ID
	threads := func(id posthouse.ID) (all []string) {
		t.Helper()
		for _, o := range d.others(id) {
			all = append(all, o.Thread+"/"+o.Branch+":"+string(o.State))
		}
		slices.Sort(all)
		return all
	}
	if have := fmt.Sprint(threads(main), threads(of), threads(c.Gates[1].ID)); have != "[early/main:open] [t/main:open] []" {
		t.Fatalf("they name each other as %s", have)
	}
	late := must.Get(d.Fork(ctx, wait.Checkpoint.ID, &ledger.ForkOptions{Thread: "late"}))(t)
	must.Get(transfer.CopyThread(ctx, d.Ledger, "t", "copy", nil))(t)
	if have := fmt.Sprint(threads(main)); have != "[copy/main:open early/main:open late/main:open]" {
		t.Errorf("with a fork and a copy more, the first has %s", have)
	}
	if have := fmt.Sprint(threads(late.Gates[0])); have != "[copy/main:open early/main:open t/main:open]" {
		t.Errorf("a fork has %s", have)
	}
	must.Get(d.Decide(ctx, main, posthouse.Decision{Verdict: posthouse.Approve, By: "dana"}))(t)
	if have := fmt.Sprint(threads(of)); have != "[copy/main:open late/main:open t/main:decided]" {
		t.Errorf("after a yes the first fork has %s", have)
	}
	must.Get(transfer.CopyThread(ctx, d.Ledger, "t", "answered", nil))(t)
	if have := fmt.Sprint(threads(of)); have != "[copy/main:open late/main:open t/main:decided]" && have != "[answered/main:open copy/main:open late/main:open t/main:decided]" {
		t.Errorf("with a copy of the answer it has %s", have)
	}
	must.Get(d.Decide(ctx, late.Gates[0], posthouse.Decision{Verdict: posthouse.Reject, By: "dana"}))(t)
	if have := fmt.Sprint(threads(of)); strings.Contains(have, "late") {
		t.Errorf("after a no it has %s", have)
	}
}

// TestAnAnswerBeforeAThreadWasForkedIsNoDuplicate: a fork in a thread of its own continues after a yes, which counted for both.
func TestAnAnswerBeforeAThreadWasForkedIsNoDuplicate(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	before := d.ask("t", "", posthouse.Gate{Name: "pay", Task: "1/pay", Uses: 1})
	must.Get(d.Decide(ctx, before, posthouse.Decision{Verdict: posthouse.Approve, By: "dana"}))(t)
	next := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Run: "run-1"}}))(t)
	f := must.Get(d.Fork(ctx, next.Checkpoint.ID, &ledger.ForkOptions{Thread: "f"}))(t)
	c := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "f", Head: &f.ID, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "pay", Task: "2/pay", Uses: 1}}}))(t)
	if have := d.others(c.Gates[0].ID); len(have) != 0 {
		t.Errorf("the fork has %+v", have)
	}
	again := d.ask("t", "", posthouse.Gate{Name: "pay", Task: "2/pay", Uses: 1})
	if have := d.others(again); len(have) != 1 || have[0].Thread != "f" {
		t.Errorf("the source has %+v", have)
	}
}

// TestDuplicatesAreBounded: of many forks a bounded number is looked at.
func TestDuplicatesAreBounded(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	c := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Run: "run-1"}, Gates: []posthouse.Gate{{Name: "pay", Task: "1/pay"}}}))(t)
	for i := range 30 {
		must.Get(d.Fork(ctx, c.Checkpoint.ID, &ledger.ForkOptions{Thread: fmt.Sprint("f", i)}))(t)
	}
	if have := d.others(c.Gates[0].ID); len(have) != 8 {
		t.Errorf("of 30 forks it names %d", len(have))
	}
}

// TestForksOfWhatWasSavedByHandAskTheSame: a checkpoint that was saved by hand has no run. Its forks and copies in other
// threads are found by what they have of it, and without anything of it among the newest threads.
func TestForksOfWhatWasSavedByHandAskTheSame(t *testing.T) {
	for name, c := range map[string]posthouse.Change{
		"coordination": {Coordination: "billing"}, "label": {Labels: map[string]string{"customer": "acme"}}, "node": {Node: "pay"}, "agent": {Agent: "payer"}, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			ctx := t.Context()
			c.Kind, c.Status = posthouse.KindSave, posthouse.StatusWaiting
			asked := must.Get(d.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &c, Gates: []posthouse.Gate{{Name: "pay", Text: "Pay 10.00?"}}}))(t)
			main := asked.Gates[0].ID
			fork := must.Get(d.Fork(ctx, asked.Checkpoint.ID, &ledger.ForkOptions{Thread: "fork", By: "olga"}))(t)
			must.Get(d.Fork(ctx, fork.ID, &ledger.ForkOptions{Thread: "fork-of-fork"}))(t)
			must.Get(transfer.CopyThread(ctx, d.Ledger, "t", "copy", nil))(t)
			d.ask("other", "", posthouse.Gate{Name: "pay"})
			for id, want := range map[posthouse.ID]string{main: "[copy fork fork-of-fork]", fork.Gates[0]: "[copy fork-of-fork t]"} {
				var have []string
				for _, o := range d.others(id) {
					have = append(have, o.Thread)
				}
				if slices.Sort(have); fmt.Sprint(have) != want {
					t.Errorf("%s names %v, want %s", id, have, want)
				}
			}
			must.Get(d.Decide(ctx, fork.Gates[0], posthouse.Decision{Verdict: posthouse.Approve, By: "dana"}))(t)
			if have := d.others(main); len(have) != 3 || !slices.ContainsFunc(have, func(o inbox.Duplicate) bool { return o.Thread == "fork" && o.By == "dana" }) {
				t.Errorf("after a yes in the fork it names %+v", have)
			}
		})
	}
}

// TestForksAreFoundByHandWithinBounds: more threads than are looked at hide one that has nothing of its source but the
// source itself. A label finds it all the same.
func TestForksAreFoundByHandWithinBounds(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	var asked []posthouse.ID
	for _, labels := range []map[string]string{nil, {"customer": "acme"}} {
		thread := fmt.Sprint("t", len(asked))
		c := must.Get(d.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindSave, Status: posthouse.StatusWaiting, Labels: labels,
		}, Gates: []posthouse.Gate{{Name: "pay"}}}))(t)
		must.Get(d.Fork(ctx, c.Checkpoint.ID, &ledger.ForkOptions{Thread: "a" + thread}))(t)
		asked = append(asked, c.Gates[0].ID)
	}
	for i := range 100 {
		d.ask(fmt.Sprint("z", i), "", posthouse.Gate{Name: "pay"})
	}
	if have := d.others(asked[0]); len(have) != 0 {
		t.Errorf("beyond the bound it names %+v", have)
	}
	if have := d.others(asked[1]); len(have) != 1 || have[0].Thread != "at1" {
		t.Errorf("by a label it names %+v", have)
	}
}
