package ledgertest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

func (d *desk) cancel(thread, reason string, c *posthouse.Claim) *posthouse.Header {
	d.Helper()
	h, err := d.Cancel(d.ctx, thread, &posthouse.CancelOptions{By: "alice", Reason: reason, Claim: c})
	d.OK(err)
	return h
}

func ledgerCancelParked(t *T) {
	d, other := t.desk(posthouse.Options{}), t.desk(posthouse.Options{})
	_, err := d.Cancel(t.ctx, "t", nil)
	d.wantErr(err, posthouse.ErrNotFound)
	c := d.ask("t", posthouse.Gate{Name: "ok?"})
	h := other.cancel("t", "called off", nil)
	if h.Kind != posthouse.KindCancel || h.Status != posthouse.StatusCancelled || h.Parent != c.Checkpoint.ID || h.Step != c.Checkpoint.Step || h.Error != "called off" || h.By != "alice" {
		t.Errorf("the last checkpoint is %+v", h)
	}
	g, err := d.Gate(t.ctx, c.Gates[0].ID)
	t.OK(err)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("the gate is %+v", g.Decision)
	}
	tail := d.tail("t")
	if again := d.cancel("t", "again", nil); again.ID != h.ID || d.tail("t") != tail {
		t.Errorf("cancelled again: %+v", again)
	}
	_, err = d.Cancel(t.ctx, "t", &posthouse.CancelOptions{Branch: "other"})
	d.wantErr(err, posthouse.ErrNotFound)
	done, err := d.Commit(t.ctx, &posthouse.Draft{Thread: "u", Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	t.OK(err)
	if h := d.cancel("u", "late", nil); h.ID != done.Checkpoint.ID {
		t.Errorf("a done thread: %+v", h)
	}
}

func ledgerCancelRun(t *T) {
	d := t.desk(posthouse.Options{})
	claim, err := d.Claim(t.ctx, "t", "r")
	t.OK(err)
	draft := func(s posthouse.Status) *posthouse.Draft {
		return &posthouse.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: s, Next: []string{"n"}}}
	}
	_, err = d.Commit(t.ctx, draft(posthouse.StatusRunning))
	t.OK(err)
	if h := d.cancel("t", "called off", nil); h.Status != posthouse.StatusRunning {
		t.Errorf("the head is %+v", h)
	}
	select {
	case <-claim.Cancelled(""):
	default:
		t.Error("the run was not told")
	}
	tail := d.tail("t")
	d.cancel("t", "again", nil)
	if d.tail("t") != tail {
		t.Error("asked twice")
	}
	_, err = d.Commit(t.ctx, draft(posthouse.StatusDone))
	d.wantErr(err, posthouse.ErrCancelled)
	info, err := t.desk(posthouse.Options{}).Thread(t.ctx, "t")
	t.OK(err)
	if len(info.Cancelling) != 1 || !info.Runnable() {
		t.Errorf("the thread is %+v", info)
	}
	late := draft(posthouse.StatusRunning)
	late.Late = true
	_, err = d.Commit(t.ctx, late)
	t.OK(err)
	late.Claim = nil
	if _, err = d.Commit(t.ctx, late); !errors.Is(err, posthouse.ErrBusy) {
		t.Errorf("late, and not the run's: %v", err)
	}
	if h := d.cancel("t", "", claim); h.Status != posthouse.StatusCancelled || h.Error != "called off" || h.By != "alice" {
		t.Errorf("ended with %+v", h)
	}
	info, err = d.Thread(t.ctx, "t")
	t.OK(err)
	if len(info.Cancelling) != 0 || info.Lease.Held || info.Runnable() {
		t.Errorf("the thread is %+v", info)
	}
}

func ledgerCancelOrDone(t *T) {
	for range 10 {
		d := t.desk(posthouse.Options{})
		thread := string(d.NewID())
		claim, err := d.Claim(t.ctx, thread, "r")
		t.OK(err)
		draft := func(s posthouse.Status) *posthouse.Draft {
			return &posthouse.Draft{Thread: thread, Claim: claim, Checkpoint: &posthouse.Change{Status: s}}
		}
		_, err = d.Commit(t.ctx, draft(posthouse.StatusRunning))
		t.OK(err)
		var ended, asked error
		var wg sync.WaitGroup
		wg.Go(func() { _, ended = d.Commit(t.ctx, draft(posthouse.StatusDone)) })
		wg.Go(func() { _, asked = d.Cancel(t.ctx, thread, nil) })
		wg.Wait()
		t.OK(asked)
		want := posthouse.StatusDone
		if ended != nil {
			if !errors.Is(ended, posthouse.ErrCancelled) {
				t.Fatalf("the run was told %v", ended)
			}
			want = posthouse.StatusCancelled
			d.cancel(thread, "", claim)
		}
		d.wantStatus(thread, want)
	}
}

// ledgerCancelCalled is about a thread that waits for another's end.
func ledgerCancelCalled(t *T) {
	d := t.desk(posthouse.Options{})
	wait := func(thread string, g posthouse.Gate) {
		_, err := d.Commit(t.ctx, &posthouse.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}})
		t.OK(err)
	}
	called := func(thread string) posthouse.Gate {
		return posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: thread, ExpiresAt: d.Now().Add(time.Hour)}
	}
	wait("caller", called("called"))
	wait("called", called("last"))
	_, err := d.Commit(t.ctx, &posthouse.Draft{Thread: "last", Gates: []posthouse.Gate{{Name: "ask"}, called("caller")}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}})
	t.OK(err)
	wait("other", called("elsewhere"))
	wait("elsewhere", posthouse.Gate{Name: "ask"})
	wait("astray", called("nowhere"))
	for range 2 { // again, nothing is left to do
		d.cancel("caller", "called off", nil)
		d.cancel("astray", "called off", nil)
	}
	for thread, want := range map[string]posthouse.Status{
		"caller": posthouse.StatusCancelled, "called": posthouse.StatusCancelled, "last": posthouse.StatusCancelled,
		"other": posthouse.StatusWaiting, "elsewhere": posthouse.StatusWaiting,
	} {
		info, err := d.Thread(t.ctx, thread)
		t.OK(err)
		if info.Status != want {
			t.Errorf("thread %s is %s, want %s", thread, info.Status, want)
		}
	}
}

func ledgerLeavesCalled(t *T) {
	d := t.desk(posthouse.Options{})
	park := func(thread, called string) *posthouse.Draft {
		g := posthouse.Gate{Name: "ask"}
		if called != "" {
			g = posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: called, ExpiresAt: d.Now().Add(time.Hour)}
		}
		return &posthouse.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}}
	}
	change := func(kind string, same bool) func(thread string) error {
		return func(thread string) error {
			_, err := d.Commit(t.ctx, &posthouse.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: kind, SameStep: same}})
			return err
		}
	}
	for name, x := range map[string]struct {
		leave func(thread string) error
		want  posthouse.Status
	}{
		"input":                      {change(posthouse.KindInput, false), posthouse.StatusCancelled},
		"update":                     {change(posthouse.KindUpdate, false), posthouse.StatusCancelled},
		"same":                       {change(posthouse.KindUpdate, true), posthouse.StatusWaiting},
		"wait":                       {change(posthouse.KindWait, false), posthouse.StatusWaiting},
		"fail":                       {change(posthouse.KindFail, false), posthouse.StatusWaiting},
		"release":                    {func(thread string) error { _, err := d.Release(t.ctx, thread, nil); return err }, posthouse.StatusCancelled},
		"delete":                     {func(thread string) error { _, err := d.DeleteThread(t.ctx, thread, nil); return err }, posthouse.StatusCancelled},
		"delete of its coordination": {func(thread string) error { _, err := d.DeleteCoordination(t.ctx, thread, nil); return err }, posthouse.StatusCancelled},
		"cancel of a fork": {func(thread string) error {
			head, err := d.Latest(t.ctx, posthouse.LatestQuery{Thread: thread})
			if err != nil {
				return err
			}
			f, err := d.Fork(t.ctx, head.ID, &posthouse.ForkOptions{Branch: "side"})
			if err != nil {
				return err
			}
			_, err = d.Cancel(t.ctx, thread, &posthouse.CancelOptions{Branch: f.Branch})
			return err
		}, posthouse.StatusWaiting},
		"delete of a copy": {func(thread string) error {
			if _, err := d.CopyThread(t.ctx, thread, thread+"-copy", nil); err != nil {
				return err
			}
			_, err := d.DeleteThread(t.ctx, thread+"-copy", nil)
			return err
		}, posthouse.StatusWaiting},
		"release in a commit": {func(thread string) error {
			_, err := d.Commit(t.ctx, &posthouse.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindNode}, Release: &posthouse.ReleaseOptions{}})
			return err
		}, posthouse.StatusCancelled},
	} {
		caller := strings.ReplaceAll(name, " ", "-")
		for _, p := range []*posthouse.Draft{park(caller+".1", ""), park(caller, caller+".1")} {
			_, err := d.Commit(t.ctx, p)
			t.OK(err)
		}
		t.OK(x.leave(caller))
		info, err := d.Thread(t.ctx, caller+".1")
		if t.OK(err); info.Status != x.want {
			t.Errorf("%s: the thread it waited for is %s, want %s", name, info.Status, x.want)
		}
	}
}
