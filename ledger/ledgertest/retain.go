package ledgertest

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// ledgerRetainCases are about policies and legal holds.
func ledgerRetainCases() []Case {
	return []Case{
		{Name: "ledger/retention takes what its dry run said", Rule: "A dry run changes nothing and says exactly the checkpoints, versions, bodies and bytes that the run then takes; nothing is left for a second one, and what stays reads as before.", Run: ledgerRetains},
		{Name: "ledger/retention by coordination", Rule: "A policy for a coordination, also in a dry run, looks at the threads whose newest checkpoint belongs to it and at no other.", Run: func(t *T) {
			d := t.desk(ledger.Options{})
			for thread, coordination := range map[string]string{"a": "desk", "b": "desk", "c": "other", "desk": "", "d": ""} {
				c := posthouse.Root(coordination, state("0"))
				c.Thread = thread
				c = d.save(c)
				d.derive(c, "1")
			}
			policy := retain.Policy{MaxPerThread: 1, Coordination: "desk"}
			for _, dry := range []bool{true, false} {
				done, err := retain.Run(t.ctx, d.Ledger, policy, &retain.Options{DryRun: dry})
				t.OK(err)
				if done.Threads != 3 || done.Changed != 3 || done.Checkpoints != 3 {
					t.Errorf("dry run %t: %+v, want one checkpoint of each of 3 threads", dry, done)
				}
			}
			for thread, want := range map[string]int{"a": 1, "b": 1, "desk": 1, "c": 2, "d": 2} {
				if n := len(d.states(posthouse.Query{Thread: thread})); n != want {
					t.Errorf("thread %q has %d checkpoints left, want %d", thread, n, want)
				}
			}
		}},
		{Name: "ledger/a held thread loses nothing", Rule: "Under legal hold no delete and no policy takes anything, also from released versions; once it is lifted they do.", Run: func(t *T) {
			now := t.Builder.Now()
			d := t.desk(ledger.Options{Now: func() time.Time { return now }})
			d.root("t", "", "0")
			_, err := d.Release(t.ctx, "t", nil)
			t.OK(err)
			first := d.root("t", "", "1")
			d.derive(first, "2")
			_, err = retain.Hold(t.ctx, d.Ledger, "t", retain.HoldOptions{By: "legal"})
			t.OK(err)
			now = now.Add(time.Hour)
			policy := retain.Policy{MaxPerThread: 1, Released: time.Minute}
			done, err := retain.Run(t.ctx, d.Ledger, policy, nil)
			t.OK(err)
			if done.Held != 1 || done.Checkpoints != 0 {
				t.Errorf("retention took %+v", done)
			}
			_, err = retain.Delete(t.ctx, d.Ledger, first.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
			t.WantCode("Delete", err, posthouse.CodeForbidden)
			_, err = retain.DeleteThread(t.ctx, d.Ledger, "t", nil)
			t.WantCode("DeleteThread", err, posthouse.CodeForbidden)
			_, err = retain.DropRelease(t.ctx, d.Ledger, "t", "1", nil)
			t.WantCode("DropRelease", err, posthouse.CodeForbidden)
			t.OK(retain.Unhold(t.ctx, d.Ledger, "t", retain.HoldOptions{By: "legal"}))
			if done, err = retain.Run(t.ctx, d.Ledger, policy, nil); err != nil || done.Checkpoints != 2 || done.Versions != 1 {
				t.Errorf("after the hold was lifted: %+v, %v", done, err)
			}
		}},
	}
}

func ledgerRetains(t *T) {
	now := t.Builder.Now()
	d := t.desk(ledger.Options{Now: func() time.Time { return now }})
	var heads []*posthouse.Checkpoint
	for _, thread := range []string{"a", "b"} {
		for range 3 { // versions
			c := d.root(thread, "", "0")
			for i := range 6 {
				now = now.Add(time.Hour)
				c = d.derive(c, strings.Repeat("state ", 50*i))
			}
			heads = append(heads, c)
			if len(heads)%3 != 0 {
				_, err := d.Release(t.ctx, thread, nil)
				t.OK(err)
			}
		}
	}
	policy := retain.Policy{MaxAge: 2 * time.Hour, KeepLast: 2, Released: time.Hour, KeepVersions: 1}
	dry, err := retain.Run(t.ctx, d.Ledger, policy, &retain.Options{DryRun: true})
	t.OK(err)
	for _, h := range heads {
		d.get(h.ID)
	}
	done, err := retain.Run(t.ctx, d.Ledger, policy, nil)
	t.OK(err)
	if dry.DryRun = false; *dry != *done || done.Versions != 2 || done.Checkpoints < 20 || done.Bytes == 0 {
		t.Errorf("the dry run said %+v, the run took %+v", *dry, *done)
	}
	if again, err := retain.Run(t.ctx, d.Ledger, policy, nil); err != nil || again.Checkpoints != 0 || again.Bytes != 0 {
		t.Errorf("a second pass took %+v, %v", again, err)
	}
	for i, h := range heads {
		if i%3 == 0 {
			continue // its version went
		}
		if got := d.get(h.ID); content(got) != content(h) {
			t.Errorf("a kept head of %s is %.40q", h.Thread, content(got))
		}
	}
}
