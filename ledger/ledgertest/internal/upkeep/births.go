package upkeep

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func birthCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a branch with a deleted name is another one", Rule: "A branch that begins after a branch of its thread was deleted says after which removal, also to another Ledger; one that was there before does not change.", Run: bornAgain},
	}
}

func bornAgain(t *desk.T) {
	d := t.Desk(ledger.Options{})
	root := d.Root("t", "", "0")
	remove := func(c *posthouse.Checkpoint) uint64 {
		t.Helper()
		_, err := retain.Delete(t.Ctx, d.Ledger, c.ID, nil)
		t.OK(err)
		info, err := d.Thread(t.Ctx, "t")
		t.OK(err)
		return info.Tail.Seq
	}
	fork := func(branch string) *posthouse.Checkpoint {
		t.Helper()
		f, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Branch: branch})
		t.OK(err)
		return f
	}
	want := func(births map[string]uint64) {
		t.Helper()
		for name, l := range map[string]*ledger.Ledger{"this ledger": d.Ledger, "another": t.Desk(ledger.Options{}).Ledger} {
			info, err := l.Thread(t.Ctx, "t")
			t.OK(err)
			for branch, after := range births {
				if got := info.Birth(branch); got != after {
					t.Errorf("%s says that branch %s began after entry %d, want %d", name, branch, got, after)
				}
			}
		}
	}

	stays := fork("stays")
	first := fork("goes")
	want(map[string]uint64{"main": 0, "stays": 0, "goes": 0, "other": 0})
	one := remove(first)
	want(map[string]uint64{"main": 0, "stays": 0, "goes": one, "other": one})
	second := fork("goes")
	d.Derive(stays, "1")
	want(map[string]uint64{"main": 0, "stays": 0, "goes": one})
	two := remove(second)
	fork("goes")
	want(map[string]uint64{"main": 0, "stays": 0, "goes": two})
	moved := d.Derive(root, "1")
	remove(moved) // main's head moves back, and no branch ends
	want(map[string]uint64{"main": 0, "stays": 0, "goes": two, "other": two})
	d.MustRelease("t", nil)
	d.Root("t", "", "0")
	want(map[string]uint64{"main": 0, "other": 0})
}
