package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

// ledgerSharedCases let several Ledgers, like those of several processes, use one store, or
// several goroutines use one Ledger.
func ledgerSharedCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/what another ledger wrote is believed", Rule: "A ledger that remembers an older head or lease asks the store before it refuses: no conflict, no busy that is not there.", Run: ledgerBelieves},
		{Name: "ledger/racing saves of one id with equal content", Rule: "All of them succeed and one entry is made, roots and children alike.", Run: ledgerSameSaves},
		{Name: "ledger/racing replacements and children", Rule: "Revisions count up without a gap or a repetition; a checkpoint that has a child is not replaced, whoever was faster.", Run: ledgerRacingReplacements},
		{Name: "ledger/one person decides twice in one millisecond", Rule: "Of two Ledgers that build the same entry for one person's answer one decides. The other gets ErrDecided with that decision, as a later answer does.", Run: ledgerSameDecisions},
		{Name: "ledger/racing evictions count once", Rule: "Ledgers that evict at once take each checkpoint off the summary's count once.", Run: ledgerRacingEvictions},
		{Name: "ledger/deletes and evictions do not wait for each other", Rule: "Deleting from threads while saves evict from them comes to an end.", Run: ledgerDeletesAndEvictions},
		{Name: "ledger/racing deletes of a thread", Rule: "One of them deletes it, the others get ErrNotFound; one removal is on record.", Run: ledgerRacingThreadDeletes},
		{Name: "ledger/deleting a thread leaves ids that moved on", Rule: "An id that was deleted here and saved in another thread since stays there.", Run: func(t *desk.T) {
			d := t.Desk(ledger.Options{})
			d.Root("t", "", "first")
			c := &posthouse.Checkpoint{Header: posthouse.Header{ID: "moved", Thread: "t"}, State: desk.State("old")}
			d.MustSave(c)
			_, err := retain.Delete(t.Ctx, d.Ledger, "moved", nil)
			t.OK(err)
			c.Thread, c.State = "u", desk.State("new")
			d.MustSave(c)
			d.Root("t", "", "more")
			_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
			t.OK(err)
			if got := d.MustGet("moved"); desk.Content(got) != "new" || got.Thread != "u" {
				t.Errorf("it is now %+v", got)
			}
		}},
	}
}

func ledgerBelieves(t *desk.T) {
	a, b := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	a.Root("t", "", "0")
	one := b.Derive(b.MustGet(a.Root("t", "", "1").ID), "2")
	two, err := a.Commit(t.Ctx, &ledger.Draft{Thread: "t", Head: &one.ID, Checkpoint: &posthouse.Change{State: desk.State("3")}})
	t.OK(err)
	three := b.Derive(b.MustGet(two.Checkpoint.ID), "4")
	if got := a.Derive(three, "5"); got.Parent != three.ID {
		t.Errorf("the parent is %s", got.Parent)
	}
	c, err := b.Claim(t.Ctx, "t", "run")
	t.OK(err)
	_, err = b.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	t.OK(err)
	_, err = a.Commit(t.Ctx, &ledger.Draft{Thread: "t", Branch: "nobody", Checkpoint: &posthouse.Change{}})
	if err == nil {
		t.Error("a branch began out of nothing")
	}
	t.OK(c.Release(t.Ctx))
	_, err = a.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{}})
	t.OK(err)
}

func ledgerSameSaves(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	head := ledgers[0].Root("t", "", "0")
	for round, parent := range []posthouse.ID{"", head.ID} {
		c := &posthouse.Checkpoint{Header: posthouse.Header{ID: posthouse.ID(fmt.Sprint("same-", round)), Thread: []string{"u", "t"}[round], Parent: parent}, State: desk.State("x")}
		seqs := make([]uint64, 16)
		var wg sync.WaitGroup
		for i := range seqs {
			wg.Go(func() {
				got, err := ledgers[i%2].Save(t.Ctx, c.Clone(), nil)
				if err != nil {
					t.Errorf("save %d: %v", i, err)
					return
				}
				seqs[i] = got.Seq
			})
		}
		wg.Wait()
		for _, seq := range seqs {
			if seq != seqs[0] {
				t.Errorf("round %d: entries %v, want one", round, seqs)
				break
			}
		}
	}
}

// An overtaken store lets another append first, once.
type overtaken struct {
	posthouse.Store
	by func()
}

func (o *overtaken) Append(ctx context.Context, b *posthouse.Batch) error {
	if by := o.by; by != nil {
		o.by = nil
		by()
	}
	return o.Store.Append(ctx, b)
}

func ledgerSameDecisions(t *desk.T) {
	for _, v := range []posthouse.Verdict{posthouse.Reject, posthouse.Approve} {
		store := &overtaken{Store: t.Store}
		still := ledger.Options{Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
		one, two := t.Desk(still), t.DeskOn(store, still)
		thread := "t-" + string(v)
		id := one.Ask(thread, posthouse.Gate{Name: "pay", Kind: posthouse.GateApproval}).Gates[0].ID
		d := posthouse.Decision{Verdict: v, By: "alice", Reason: "no"}
		var won *posthouse.Gate
		store.by = func() {
			var err error
			won, err = one.Decide(t.Ctx, id, d)
			t.OK(err)
		}
		_, err := two.Decide(t.Ctx, id, d)
		e := two.WantErr(err, posthouse.ErrDecided)
		if e.Decision == nil || won == nil || !e.Decision.At.Equal(won.Decision.At) || e.Decision.By != "alice" {
			t.Errorf("the second answer was told of %+v, the first was %+v", e.Decision, won)
		}
		if tail := one.Tail(thread); tail.Seq != 2 {
			t.Errorf("%s: the log ends at entry %d", v, tail.Seq)
		}
	}
}

func ledgerRacingReplacements(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	for round := range 10 {
		thread := fmt.Sprint("t", round)
		c := ledgers[0].Root(thread, "", "0")
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				again := &posthouse.Checkpoint{Header: posthouse.Header{ID: c.ID, Thread: thread}, State: desk.State(fmt.Sprint("r", i))}
				_, err := ledgers[i%2].Save(t.Ctx, again, &ledger.SaveOptions{Replace: true})
				if err != nil && !errors.Is(err, posthouse.ErrExists) {
					t.Errorf("replace: %v", err)
				}
			})
		}
		wg.Go(func() {
			if _, err := ledgers[1].Save(t.Ctx, c.Derive(desk.State("child")), nil); err != nil {
				t.Errorf("derive: %v", err)
			}
		})
		wg.Wait()
		revision, child := uint32(0), false
		for e, err := range ledgers[0].Log(t.Ctx, thread, posthouse.Range{}) {
			t.OK(err)
			switch h := e.Records[0].Checkpoint; {
			case h.ID != c.ID:
				child = true
			case e.Seq == 1:
			case child:
				t.Errorf("entry %d replaces what has a child", e.Seq)
			case h.Revision != revision+1:
				t.Errorf("revision %d follows %d", h.Revision, revision)
			default:
				revision = h.Revision
			}
		}
	}
}

func ledgerRacingEvictions(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{MaxCheckpoints: 6}), t.Desk(ledger.Options{MaxCheckpoints: 6})}
	var wg sync.WaitGroup
	for i, d := range ledgers {
		wg.Go(func() {
			thread := fmt.Sprint("t", i)
			c := d.Root(thread, "", "0")
			for n := range 40 {
				next, err := d.Save(t.Ctx, c.Derive(desk.State(fmt.Sprint(n))), nil)
				if err != nil {
					t.Errorf("save: %v", err)
					return
				}
				c = next
			}
		})
	}
	wg.Wait()
	for i := range ledgers {
		thread := fmt.Sprint("t", i)
		info, err := ledgers[0].Thread(t.Ctx, thread)
		t.OK(err)
		if n := len(ledgers[0].States(posthouse.Query{Thread: thread})); info.Checkpoints != n {
			t.Errorf("thread %s counts %d checkpoints and lists %d", thread, info.Checkpoints, n)
		}
	}
}

func ledgerDeletesAndEvictions(t *desk.T) {
	d := t.Desk(ledger.Options{MaxCheckpoints: 4})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 40 {
				c, err := d.Save(t.Ctx, posthouse.Root(fmt.Sprint("t", n%2), desk.State("x")), nil)
				if err != nil {
					t.Errorf("save: %v", err)
					return
				}
				if (n+g)%2 == 0 {
					continue
				}
				_, err = retain.Delete(t.Ctx, d.Ledger, c.ID, nil)
				if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	wg.Wait()
	left := 0
	for info, err := range d.Threads(t.Ctx, posthouse.ThreadQuery{}) {
		t.OK(err)
		left += info.Checkpoints
	}
	if n := len(d.States(posthouse.Query{})); n != left {
		t.Errorf("the summaries count %d checkpoints, %d are listed", left, n)
	}
}

func ledgerRacingThreadDeletes(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	for round := range 5 {
		thread := fmt.Sprint("t", round)
		ledgers[0].Root(thread, "", "0")
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			// Each has its own name, because equal entries are one entry.
			wg.Go(func() {
				_, errs[i] = retain.DeleteThread(t.Ctx, ledgers[i%2].Ledger, thread, &retain.DeleteOptions{By: fmt.Sprint("p", i)})
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				ledgers[0].WantErr(err, posthouse.ErrNotFound)
			}
		}
		if c := ledgers[1].Root(thread, "", "anew"); won != 1 || c.Generation != 2 {
			t.Errorf("%d deleted the thread, the next generation is %d", won, c.Generation)
		}
	}
}
