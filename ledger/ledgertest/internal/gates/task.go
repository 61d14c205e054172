package gates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func taskCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/an attempt takes the place of another", Rule: "The entry that ends an attempt of a task opens the gate of the next; the branch waits on, and a verdict for the first is ErrConflict and names the next.", Run: ledgerNextAttempt},
		{Name: "ledger/a task is over once", Rule: "The first verdict of a task without a next attempt counts: another is ErrDecided, and behind the deadline it is ErrExpired.", Run: ledgerTaskOver},
		{Name: "ledger/a handler's step is recorded once", Rule: "Two engines that record one step of a task leave one result: the same again adds no entry, another is ErrExists, and behind the verdict it is ErrDecided.", Run: ledgerHandlerStepOnce},
		{Name: "ledger/a claim and a withdrawal", Rule: "Of a worker's claim of a task under a grant and the withdrawal of its gate, by two engines at once, the log has an order: a claim that is on record came first, and one that came later is refused and leaves nothing.", Run: ledgerClaimOrWithdrawal},
		{Name: "ledger/a failed task is retried in place", Rule: "Where the branch failed with its task, a retry opens it anew at the head, with its key, its first attempt and as much time; a second retry is ErrConflict and names the gate.", Run: ledgerRetryInPlace},
		{Name: "ledger/a failed task is retried on a fork", Rule: "Where the branch went on behind its failed task, a retry forks the checkpoint that handed it out, with what its handler recorded; what followed stays, and a second retry is ErrConflict.", Run: ledgerRetryOnFork},
		{Name: "ledger/a fork hands a failed task out again", Rule: "A fork of a checkpoint behind a task that failed for good does not know the task, to a branch or a thread, but what its handler recorded; it knows one that is complete or was cancelled, and a fork of the fork knows what the fork does. The source knows all.", Run: ledgerForkOfFailedTask},
		{Name: "ledger/only failed tasks are retried", Rule: "A question, an open task, one that is complete, one that another attempt replaced and one that is unknown are refused, and nothing is written.", Run: ledgerRetryRefused},
	}
}

// taskOf names the task of the programs below.
const taskOf = "1/work"

// handOut commits a checkpoint that waits for a worker.
func handOut(d *desk.Desk, thread string, expires time.Time) *posthouse.Gate {
	d.Helper()
	done, err := d.Commit(d.Ctx, &ledger.Draft{
		Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{
			Name: "fetch", Task: taskOf, Kind: posthouse.GateTask, Payload: json.RawMessage(`{"url":"a"}`), ExpiresAt: expires,
			Call: &posthouse.TaskCall{Task: "fetch", Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}}},
		}},
	})
	d.OK(err)
	return &done.Gates[0]
}

// resolve ends an execution, and returns the gate of the next.
func resolve(d *desk.Desk, g *posthouse.Gate, o commit.TaskOutcome) *posthouse.Gate {
	d.Helper()
	o.By = "worker:w"
	_, next, err := commit.ResolveTask(d.Ctx, d.Core(), commit.RefOf(g), &o)
	d.OK(err)
	return next
}

// handlerStep is a result as a handler records it.
func handlerStep(value string) posthouse.Step {
	return posthouse.Step{Name: "fetch>page", Value: posthouse.Value{Codec: "json", Data: []byte(value)}}
}

// failBranch commits the failure of the program after its task.
func failBranch(d *desk.Desk, thread string) {
	d.Helper()
	_, err := d.Commit(d.Ctx, &ledger.Draft{Thread: thread, KeepOpen: true, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Error: "no attempt is left",
	}})
	d.OK(err)
}

func ledgerNextAttempt(t *desk.T) {
	d := t.Desk(ledger.Options{})
	first := handOut(d, "t", time.Time{})
	before, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	second := resolve(d, first, commit.TaskOutcome{Next: commit.NextAttempt(first.Call, d.Now(), "it broke", 0), Why: "failed"})
	after, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if after.Tail.Seq != before.Tail.Seq+1 || after.Status != posthouse.StatusWaiting {
		t.Errorf("the thread went from %d to %d and is %s", before.Tail.Seq, after.Tail.Seq, after.Status)
	}
	switch c := second.Call; {
	case second.Supersedes != first.ID || c.ID != first.ID || c.Attempt != 2 || c.Failure != "it broke" || c.NotBefore.IsZero():
		t.Errorf("the second attempt is %+v of %+v", c, second)
	case string(second.Payload) != `{"url":"a"}`:
		t.Errorf("its input is %s", second.Payload)
	}
	_, _, err = commit.ResolveTask(t.Ctx, t.Desk(ledger.Options{}).Core(), commit.RefOf(first), &commit.TaskOutcome{By: "worker:late", Output: json.RawMessage("1")})
	if e := d.WantErr(err, posthouse.ErrConflict); e != nil && e.Gate != second.ID {
		t.Errorf("a late verdict hears of gate %s, want %s", e.Gate, second.ID)
	}
	if again := commit.NextAttempt(second.Call, d.Now(), "it broke again", 0); again != nil {
		t.Errorf("two attempts are allowed; a third is %+v", again)
	}
}

func ledgerTaskOver(t *desk.T) {
	d := t.Desk(ledger.Options{})
	g := handOut(d, "t", time.Time{})
	resolve(d, g, commit.TaskOutcome{Output: json.RawMessage(`"page"`)})
	got, err := t.Desk(ledger.Options{}).Gate(t.Ctx, g.ID)
	t.OK(err)
	if got.Decision == nil || got.Decision.Verdict != posthouse.Respond || string(got.Decision.Value) != `"page"` {
		t.Errorf("the task is %+v", got.Decision)
	}
	_, _, err = commit.ResolveTask(t.Ctx, d.Core(), commit.RefOf(g), &commit.TaskOutcome{By: "worker:late", Failed: "late"})
	d.WantErr(err, posthouse.ErrDecided)

	now := d.Now()
	late := t.Desk(ledger.Options{Now: func() time.Time { return now.Add(time.Hour) }})
	g = handOut(d, "late", now.Add(time.Minute))
	_, _, err = commit.ResolveTask(t.Ctx, late.Core(), commit.RefOf(g), &commit.TaskOutcome{By: "worker:w", Output: json.RawMessage("1")})
	late.WantErr(err, posthouse.ErrExpired)
}

func ledgerHandlerStepOnce(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	g := handOut(d, "t", time.Time{})
	var here, there commit.TaskSteps
	t.OK(here.Record(t.Ctx, d.Core(), commit.RefOf(g), handlerStep(`"one"`)))
	before, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	t.OK(here.Record(t.Ctx, d.Core(), commit.RefOf(g), handlerStep(`"one"`)))
	t.OK(there.Record(t.Ctx, other.Core(), commit.RefOf(g), handlerStep(`"one"`)))
	d.WantErr(there.Record(t.Ctx, other.Core(), commit.RefOf(g), handlerStep(`"two"`)), posthouse.ErrExists)
	after, err := other.Thread(t.Ctx, "t")
	t.OK(err)
	if after.Tail.Seq != before.Tail.Seq {
		t.Errorf("%d entries more", after.Tail.Seq-before.Tail.Seq)
	}
	next := handlerStep(`"next"`)
	next.Occurrence = 1
	t.OK(there.Record(t.Ctx, other.Core(), commit.RefOf(g), next))
	t.OK(here.Record(t.Ctx, d.Core(), commit.RefOf(g), next)) // an engine sees what another recorded
	x, err := desk.ExecutionOf(t.Ctx, d.Ledger, headOf(d, "t", ""), taskOf)
	t.OK(err)
	if len(x.Steps) != 2 {
		t.Errorf("%d results, want 2", len(x.Steps))
	}
	resolve(d, g, commit.TaskOutcome{Output: json.RawMessage("1")})
	d.WantErr(there.Record(t.Ctx, other.Core(), commit.RefOf(g), handlerStep(`"one"`)), posthouse.ErrDecided)
}

func ledgerRetryInPlace(t *desk.T) {
	d := t.Desk(ledger.Options{})
	failed := handOut(d, "t", d.Now().Add(time.Hour))
	resolve(d, failed, commit.TaskOutcome{Failed: "no such page"})
	failBranch(d, "t")
	list, err := ledger.FailedTasks(t.Ctx, d.Ledger, headOf(d, "t", ""))
	t.OK(err)
	if len(list) != 1 || list[0].ID != failed.ID {
		t.Errorf("failed tasks: %+v", list)
	}
	again, err := ledger.RetryTask(t.Ctx, d.Ledger, failed.ID, &ledger.RetryOptions{By: "alice"})
	t.OK(err)
	wantRetried(d, again, failed, posthouse.MainBranch)
	if left := again.ExpiresAt.Sub(again.CreatedAt); left != time.Hour {
		t.Errorf("the retried task has %s", left)
	}
	d.WantStatus("t", posthouse.StatusWaiting)
	list, err = ledger.FailedTasks(t.Ctx, d.Ledger, headOf(d, "t", ""))
	t.OK(err)
	if len(list) != 0 {
		t.Errorf("failed tasks behind the retry: %+v", list)
	}
	other := t.Desk(ledger.Options{})
	_, err = ledger.RetryTask(t.Ctx, other.Ledger, failed.ID, nil)
	if e := d.WantErr(err, posthouse.ErrConflict); e != nil && e.Gate != again.ID {
		t.Errorf("a second retry hears of gate %s, want %s", e.Gate, again.ID)
	}
	resolve(other, again, commit.TaskOutcome{Output: json.RawMessage("1")})
}

func ledgerRetryOnFork(t *desk.T) {
	d := t.Desk(ledger.Options{})
	failed := handOut(d, "t", time.Time{})
	var steps commit.TaskSteps
	t.OK(steps.Record(t.Ctx, d.Core(), commit.RefOf(failed), handlerStep(`"half"`)))
	resolve(d, failed, commit.TaskOutcome{Failed: "no such page"})
	done, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}})
	t.OK(err)
	var asked posthouse.ID
	again, err := ledger.RetryTask(t.Ctx, d.Ledger, failed.ID, &ledger.RetryOptions{By: "alice", Fork: func(_ context.Context, old, _ *posthouse.Gate) error {
		asked = old.ID
		return nil
	}})
	t.OK(err)
	if asked != failed.ID {
		t.Errorf("the fork was told of gate %q", asked)
	}
	branch := "retry-" + strings.TrimPrefix(string(failed.ID), posthouse.GatePrefix)
	wantRetried(d, again, failed, branch)
	x, err := desk.ExecutionOf(t.Ctx, d.Ledger, headOf(d, "t", branch), taskOf)
	t.OK(err)
	if len(x.Steps) != 1 || string(x.Steps[0].Value.Data) != `"half"` {
		t.Errorf("the fork has %d results: %+v", len(x.Steps), x.Steps)
	}
	if head := headOf(d, "t", ""); head.ID != done.Checkpoint.ID {
		t.Errorf("the head of main moved to %s", head.ID)
	}
	_, err = ledger.RetryTask(t.Ctx, t.Desk(ledger.Options{}).Ledger, failed.ID, nil)
	if e := d.WantErr(err, posthouse.ErrConflict); e != nil && e.Gate != again.ID {
		t.Errorf("a second retry hears of gate %s, want %s", e.Gate, again.ID)
	}

	failed = handOut(d, "stopped", time.Time{})
	resolve(d, failed, commit.TaskOutcome{Failed: "no such page"})
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "stopped", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}})
	t.OK(err)
	full := errors.New("the slot cannot be copied")
	_, err = ledger.RetryTask(t.Ctx, d.Ledger, failed.ID, &ledger.RetryOptions{Fork: func(context.Context, *posthouse.Gate, *posthouse.Gate) error { return full }})
	if !errors.Is(err, full) {
		t.Errorf("a fork that was stopped: %v", err)
	}
	info, err := d.Thread(t.Ctx, "stopped")
	t.OK(err)
	if len(info.Branches) != 1 {
		t.Errorf("a fork that was stopped left %d branches", len(info.Branches))
	}
}

func ledgerForkOfFailedTask(t *desk.T) {
	for i, c := range []struct {
		outcome commit.TaskOutcome
		known   int // gates of the task that a fork knows
	}{
		{commit.TaskOutcome{Failed: "no such page"}, 0},
		{commit.TaskOutcome{Output: json.RawMessage("1")}, 1},
		{commit.TaskOutcome{Withdrawn: "nobody needs it"}, 1},
	} {
		d, thread := t.Desk(ledger.Options{}), fmt.Sprint("t", i)
		g := handOut(d, thread, time.Time{})
		var steps commit.TaskSteps
		t.OK(steps.Record(t.Ctx, d.Core(), commit.RefOf(g), handlerStep(`"half"`)))
		g = resolve(d, g, commit.TaskOutcome{Next: commit.NextAttempt(g.Call, d.Now(), "it broke", 0), Why: "failed"})
		resolve(d, g, c.outcome)
		failBranch(d, thread)
		head := headOf(d, thread, "")
		for n, o := range []*ledger.ForkOptions{nil, {Thread: thread + "-away"}} {
			f, err := d.Fork(t.Ctx, head.ID, o)
			t.OK(err)
			second, err := t.Desk(ledger.Options{}).Fork(t.Ctx, f.ID, nil)
			t.OK(err)
			for _, h := range []*posthouse.Header{&f.Header, &second.Header} {
				x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, h, taskOf)
				t.OK(err)
				decided := 0
				for _, known := range x.Gates {
					if known.Decision != nil && known.Decision.Successor == "" {
						decided++
					}
				}
				if decided != c.known || c.known == 0 && len(x.Gates) > 0 || len(x.Steps) != 1 || string(x.Steps[0].Value.Data) != `"half"` {
					t.Errorf("fork %d of outcome %d knows gates %+v and results %+v", n, i, x.Gates, x.Steps)
				}
			}
		}
		x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, head, taskOf)
		t.OK(err)
		if n := len(x.Gates); n != 1 || x.Gates[0].ID != g.ID || x.Gates[0].Decision == nil {
			t.Errorf("the source of outcome %d knows %+v", i, x.Gates)
		}
	}
}

func ledgerRetryRefused(t *desk.T) {
	d := t.Desk(ledger.Options{})
	asked := d.Ask("asked", posthouse.Gate{Name: "ship?"}).Gates[0]
	open := handOut(d, "open", time.Time{})
	complete := handOut(d, "complete", time.Time{})
	resolve(d, complete, commit.TaskOutcome{Output: json.RawMessage("1")})
	replaced := handOut(d, "replaced", time.Time{})
	next := resolve(d, replaced, commit.TaskOutcome{Next: commit.Pause(replaced.Call, d.Now(), "cool down", time.Minute), Why: "paused"})
	for _, c := range []struct {
		gate posthouse.ID
		want *posthouse.Error
	}{
		{asked.ID, posthouse.ErrInvalid}, {open.ID, posthouse.ErrConflict}, {complete.ID, posthouse.ErrDecided},
		{replaced.ID, posthouse.ErrConflict}, {next.ID, posthouse.ErrConflict}, {"gate-x", posthouse.ErrNotFound},
	} {
		_, err := ledger.RetryTask(t.Ctx, d.Ledger, c.gate, nil)
		d.WantErr(err, c.want)
	}
	_, err := ledger.RetryTask(t.Ctx, d.Ledger, open.ID, &ledger.RetryOptions{By: "a\x00b"})
	d.WantErr(err, posthouse.ErrInvalid)
	for _, thread := range []string{"asked", "open", "complete", "replaced"} {
		wantNoFork(d, thread)
	}
}

// wantRetried compares a gate with the failed one that it replaces.
func wantRetried(d *desk.Desk, again, failed *posthouse.Gate, branch string) {
	d.Helper()
	switch c := again.Call; {
	case again.ID == failed.ID || again.Supersedes != failed.ID || again.Branch != branch:
		d.Errorf("retried as %+v", again)
	case c.ID != failed.Call.ID || c.Attempt != 1 || c.Failure != "no such page":
		d.Errorf("the call of the retried task is %+v", c)
	case string(again.Payload) != string(failed.Payload):
		d.Errorf("its input is %s", again.Payload)
	}
}

// wantNoFork checks that a thread has one branch.
func wantNoFork(d *desk.Desk, thread string) {
	d.Helper()
	info, err := d.Thread(d.Ctx, thread)
	d.OK(err)
	if len(info.Branches) != 1 {
		d.Errorf("thread %s has %d branches", thread, len(info.Branches))
	}
}

// headOf returns the newest checkpoint of a branch; "" is main.
func headOf(d *desk.Desk, thread, branch string) *posthouse.Header {
	d.Helper()
	h, err := d.Latest(d.Ctx, ledger.LatestQuery{Thread: thread, Branch: branch})
	d.OK(err)
	return &h.Header
}
