package ledgertest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

func cancelRun(d *desk.Desk, thread, reason string, c *ledger.Claim) *posthouse.Header {
	d.Helper()
	h, err := d.Cancel(d.Ctx, thread, &ledger.CancelOptions{By: "alice", Reason: reason, Claim: c})
	d.OK(err)
	return h
}

func ledgerCancelParked(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	_, err := d.Cancel(t.Ctx, "t", nil)
	d.WantErr(err, posthouse.ErrNotFound)
	c := d.Ask("t", posthouse.Gate{Name: "ok?"})
	h := cancelRun(other, "t", "called off", nil)
	if h.Kind != posthouse.KindCancel || h.Status != posthouse.StatusCancelled || h.Parent != c.Checkpoint.ID || h.Step != c.Checkpoint.Step || h.Error != "called off" || h.By != "alice" {
		t.Errorf("the last checkpoint is %+v", h)
	}
	g, err := d.Gate(t.Ctx, c.Gates[0].ID)
	t.OK(err)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel || g.Decision.Reason != "the branch was cancelled by alice: called off" {
		t.Errorf("the gate is %+v", g.Decision)
	}
	tail := d.Tail("t")
	if again := cancelRun(d, "t", "again", nil); again.ID != h.ID || d.Tail("t") != tail {
		t.Errorf("cancelled again: %+v", again)
	}
	_, err = d.Cancel(t.Ctx, "t", &ledger.CancelOptions{Branch: "other"})
	d.WantErr(err, posthouse.ErrNotFound)
	done, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "u", Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	t.OK(err)
	if h := cancelRun(d, "u", "late", nil); h.ID != done.Checkpoint.ID {
		t.Errorf("a done thread: %+v", h)
	}
}

func ledgerCancelRun(t *desk.T) {
	d := t.Desk(ledger.Options{})
	claim, err := d.Claim(t.Ctx, "t", "r")
	t.OK(err)
	draft := func(s posthouse.Status) *ledger.Draft {
		return &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: s, Next: []string{"n"}}}
	}
	_, err = d.Commit(t.Ctx, draft(posthouse.StatusRunning))
	t.OK(err)
	if h := cancelRun(d, "t", "called off", nil); h.Status != posthouse.StatusRunning {
		t.Errorf("the head is %+v", h)
	}
	select {
	case <-claim.Cancelled(""):
	default:
		t.Error("the run was not told")
	}
	tail := d.Tail("t")
	cancelRun(d, "t", "again", nil)
	if d.Tail("t") != tail {
		t.Error("asked twice")
	}
	_, err = d.Commit(t.Ctx, draft(posthouse.StatusDone))
	d.WantErr(err, posthouse.ErrCancelled)
	info, err := t.Desk(ledger.Options{}).Thread(t.Ctx, "t")
	t.OK(err)
	if len(info.Cancelling) != 1 || !info.Runnable() {
		t.Errorf("the thread is %+v", info)
	}
	late := draft(posthouse.StatusRunning)
	late.AfterCancel = true
	_, err = d.Commit(t.Ctx, late)
	t.OK(err)
	late.Claim = nil
	_, err = d.Commit(t.Ctx, late)
	if !errors.Is(err, posthouse.ErrBusy) {
		t.Errorf("late, and not the run's: %v", err)
	}
	if h := cancelRun(d, "t", "", claim); h.Status != posthouse.StatusCancelled || h.Error != "called off" || h.By != "alice" {
		t.Errorf("ended with %+v", h)
	}
	info, err = d.Thread(t.Ctx, "t")
	t.OK(err)
	if len(info.Cancelling) != 0 || info.Lease.Held || info.Runnable() {
		t.Errorf("the thread is %+v", info)
	}
}

func ledgerCancelOrDone(t *desk.T) {
	for range 10 {
		d := t.Desk(ledger.Options{})
		thread := string(d.Core().NewID())
		claim, err := d.Claim(t.Ctx, thread, "r")
		t.OK(err)
		draft := func(s posthouse.Status) *ledger.Draft {
			return &ledger.Draft{Thread: thread, Claim: claim, Checkpoint: &posthouse.Change{Status: s}}
		}
		_, err = d.Commit(t.Ctx, draft(posthouse.StatusRunning))
		t.OK(err)
		var ended, asked error
		var wg sync.WaitGroup
		wg.Go(func() { _, ended = d.Commit(t.Ctx, draft(posthouse.StatusDone)) })
		wg.Go(func() { _, asked = d.Cancel(t.Ctx, thread, nil) })
		wg.Wait()
		t.OK(asked)
		want := posthouse.StatusDone
		if ended != nil {
			if !errors.Is(ended, posthouse.ErrCancelled) {
				t.Fatalf("the run was told %v", ended)
			}
			want = posthouse.StatusCancelled
			cancelRun(d, thread, "", claim)
		}
		d.WantStatus(thread, want)
	}
}

// ledgerCancelCalled is about a thread that waits for another's end.
func ledgerCancelCalled(t *desk.T) {
	d := t.Desk(ledger.Options{})
	wait := func(thread string, g posthouse.Gate) {
		_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}})
		t.OK(err)
	}
	called := func(thread string) posthouse.Gate {
		return posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: thread, ExpiresAt: d.Now().Add(time.Hour)}
	}
	wait("caller", called("called"))
	wait("called", called("last"))
	_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "last", Gates: []posthouse.Gate{{Name: "ask"}, called("caller")}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}})
	t.OK(err)
	wait("other", called("elsewhere"))
	wait("elsewhere", posthouse.Gate{Name: "ask"})
	wait("astray", called("nowhere"))
	for range 2 { // again, nothing is left to do
		cancelRun(d, "caller", "called off", nil)
		cancelRun(d, "astray", "called off", nil)
	}
	for thread, want := range map[string]posthouse.Status{
		"caller": posthouse.StatusCancelled, "called": posthouse.StatusCancelled, "last": posthouse.StatusCancelled,
		"other": posthouse.StatusWaiting, "elsewhere": posthouse.StatusWaiting,
	} {
		info, err := d.Thread(t.Ctx, thread)
		t.OK(err)
		if info.Status != want {
			t.Errorf("thread %s is %s, want %s", thread, info.Status, want)
		}
	}
}

func ledgerLeavesCalled(t *desk.T) {
	d := t.Desk(ledger.Options{})
	park := func(thread, called string) *ledger.Draft {
		g := posthouse.Gate{Name: "ask"}
		if called != "" {
			g = posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: called, ExpiresAt: d.Now().Add(time.Hour)}
		}
		return &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}}
	}
	change := func(kind string, same bool) func(thread string) error {
		return func(thread string) error {
			_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: kind, MidStep: same}})
			return err
		}
	}
	for name, x := range map[string]struct {
		leave func(thread string) error
		want  posthouse.Status
	}{
		"input":   {change(posthouse.KindInput, false), posthouse.StatusCancelled},
		"update":  {change(posthouse.KindUpdate, false), posthouse.StatusCancelled},
		"same":    {change(posthouse.KindUpdate, true), posthouse.StatusWaiting},
		"wait":    {change(posthouse.KindWait, false), posthouse.StatusWaiting},
		"fail":    {change(posthouse.KindFail, false), posthouse.StatusWaiting},
		"release": {func(thread string) error { _, err := d.Release(t.Ctx, thread, nil); return err }, posthouse.StatusCancelled},
		"delete":  {func(thread string) error { _, err := retain.DeleteThread(t.Ctx, d.Ledger, thread, nil); return err }, posthouse.StatusCancelled},
		"delete of its coordination": {func(thread string) error {
			_, err := retain.DeleteCoordination(t.Ctx, d.Ledger, thread, nil)
			return err
		}, posthouse.StatusCancelled},
		"cancel of a fork": {func(thread string) error {
			head, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: thread})
			if err != nil {
				return err
			}
			f, err := d.Fork(t.Ctx, head.ID, &ledger.ForkOptions{Branch: "side"})
			if err != nil {
				return err
			}
			_, err = d.Cancel(t.Ctx, thread, &ledger.CancelOptions{Branch: f.Branch})
			return err
		}, posthouse.StatusWaiting},
		"delete of a copy": {func(thread string) error {
			if _, err := transfer.CopyThread(t.Ctx, d.Ledger, thread, thread+"-copy", nil); err != nil {
				return err
			}
			_, err := retain.DeleteThread(t.Ctx, d.Ledger, thread+"-copy", nil)
			return err
		}, posthouse.StatusWaiting},
		"release in a commit": {func(thread string) error {
			_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindNode}, Release: &ledger.ReleaseOptions{}})
			return err
		}, posthouse.StatusCancelled},
	} {
		caller := strings.ReplaceAll(name, " ", "-")
		for _, p := range []*ledger.Draft{park(caller+".1", ""), park(caller, caller+".1")} {
			_, err := d.Commit(t.Ctx, p)
			t.OK(err)
		}
		t.OK(x.leave(caller))
		info, err := d.Thread(t.Ctx, caller+".1")
		if t.OK(err); info.Status != x.want {
			t.Errorf("%s: the thread it waited for is %s, want %s", name, info.Status, x.want)
		}
	}
}
