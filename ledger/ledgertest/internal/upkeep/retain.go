package upkeep

import (
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

// retainCases are about policies and legal holds.
func retainCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/retention takes what its dry run said", Rule: "A dry run changes nothing and says exactly the checkpoints, versions, bodies and bytes that the run then takes; nothing is left for a second one, and what stays reads as before.", Run: retains},
		{Name: "ledger/retention by coordination", Rule: "A policy for a coordination, also in a dry run, looks at the threads whose newest checkpoint belongs to it and at no other.", Run: func(t *desk.T) {
			d := t.Desk(ledger.Options{})
			for thread, coordination := range map[string]string{"a": "desk", "b": "desk", "c": "other", "desk": "", "d": ""} {
				c := posthouse.Root(coordination, desk.State("0"))
				c.Thread = thread
				c = d.MustSave(c)
				d.Derive(c, "1")
			}
			policy := retain.Policy{MaxPerThread: 1, Coordination: "desk"}
			for _, dry := range []bool{true, false} {
				done, err := retain.Run(t.Ctx, d.Ledger, policy, &retain.Options{DryRun: dry})
				t.OK(err)
				if done.Threads != 3 || done.Changed != 3 || done.Checkpoints != 3 {
					t.Errorf("dry run %t: %+v, want one checkpoint of each of 3 threads", dry, done)
				}
			}
			for thread, want := range map[string]int{"a": 1, "b": 1, "desk": 1, "c": 2, "d": 2} {
				if n := len(d.States(posthouse.Query{Thread: thread})); n != want {
					t.Errorf("thread %q has %d checkpoints left, want %d", thread, n, want)
				}
			}
		}},
		{Name: "ledger/a held thread loses nothing", Rule: "Under legal hold no delete and no policy takes anything, also from released versions; once it is lifted they do.", Run: func(t *desk.T) {
			now := t.Builder.Now()
			d := t.Desk(ledger.Options{Now: func() time.Time { return now }})
			d.Root("t", "", "0")
			_, err := d.Release(t.Ctx, "t", nil)
			t.OK(err)
			first := d.Root("t", "", "1")
			d.Derive(first, "2")
			_, err = retain.Hold(t.Ctx, d.Ledger, "t", retain.HoldOptions{By: "legal"})
			t.OK(err)
			now = now.Add(time.Hour)
			policy := retain.Policy{MaxPerThread: 1, Released: time.Minute}
			done, err := retain.Run(t.Ctx, d.Ledger, policy, nil)
			t.OK(err)
			if done.Held != 1 || done.Checkpoints != 0 {
				t.Errorf("retention took %+v", done)
			}
			_, err = retain.Delete(t.Ctx, d.Ledger, first.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
			t.WantCode("Delete", err, posthouse.CodeForbidden)
			_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
			t.WantCode("DeleteThread", err, posthouse.CodeForbidden)
			_, err = retain.DropRelease(t.Ctx, d.Ledger, "t", "1", nil)
			t.WantCode("DropRelease", err, posthouse.CodeForbidden)
			t.OK(retain.Unhold(t.Ctx, d.Ledger, "t", retain.HoldOptions{By: "legal"}))
			done, err = retain.Run(t.Ctx, d.Ledger, policy, nil)
			if err != nil || done.Checkpoints != 2 || done.Versions != 1 {
				t.Errorf("after the hold was lifted: %+v, %v", done, err)
			}
		}},
	}
}

func retains(t *desk.T) {
	now := t.Builder.Now()
	d := t.Desk(ledger.Options{Now: func() time.Time { return now }})
	var heads []*posthouse.Checkpoint
	for _, thread := range []string{"a", "b"} {
		for range 3 { // versions
			c := d.Root(thread, "", "0")
			for i := range 6 {
				now = now.Add(time.Hour)
				c = d.Derive(c, strings.Repeat("state ", 50*i))
			}
			heads = append(heads, c)
			if len(heads)%3 != 0 {
				_, err := d.Release(t.Ctx, thread, nil)
				t.OK(err)
			}
		}
	}
	policy := retain.Policy{MaxAge: 2 * time.Hour, KeepLast: 2, Released: time.Hour, KeepVersions: 1}
	dry, err := retain.Run(t.Ctx, d.Ledger, policy, &retain.Options{DryRun: true})
	t.OK(err)
	for _, h := range heads {
		d.MustGet(h.ID)
	}
	done, err := retain.Run(t.Ctx, d.Ledger, policy, nil)
	t.OK(err)
	dry.DryRun = false
	if !reflect.DeepEqual(dry, done) || done.Versions != 2 || done.Checkpoints < 20 || done.Bytes == 0 {
		t.Errorf("the dry run said %+v, the run took %+v", *dry, *done)
	}
	if again, err := retain.Run(t.Ctx, d.Ledger, policy, nil); err != nil || again.Checkpoints != 0 || again.Bytes != 0 {
		t.Errorf("a second pass took %+v, %v", again, err)
	}
	for i, h := range heads {
		if i%3 == 0 {
			continue // its version went
		}
		if got := d.MustGet(h.ID); desk.Content(got) != desk.Content(h) {
			t.Errorf("a kept head of %s is %.40q", h.Thread, desk.Content(got))
		}
	}
}
