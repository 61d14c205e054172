package upkeep

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

// slotCases are about what handlers saved for tasks in threads that stay.
func slotCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/slots of complete tasks go", Rule: "A policy takes the slots of tasks that were complete for its time, and says in a dry run how many. That of a task that is open, failed, parked, cancelled, in its next attempt, complete since, of a thread under hold, and what is no task's, stays byte by byte.", Run: slotsGo},
	}
}

// A slotter hands out tasks of a thread, and keeps what their handlers saved.
type slotter struct {
	*desk.T
	d *desk.Desk
}

// handOut commits a checkpoint that waits for a worker, who claims the task and saves something.
func (s slotter) handOut(thread, name string) *posthouse.Gate {
	s.Helper()
	done, err := s.d.Commit(s.Ctx, &ledger.Draft{
		Thread: thread, KeepOpen: true, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{
			Name: name, Task: "1/work", Kind: posthouse.GateTask, Payload: json.RawMessage("1"),
			Call: &posthouse.TaskCall{Task: name, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}}},
		}},
	})
	s.OK(err)
	s.save(&done.Gates[0])
	return &done.Gates[0]
}

func (s slotter) save(g *posthouse.Gate) {
	s.Helper()
	r := taskslot.Record{Call: g.Call.ID, Gate: g.ID, Session: "s", Worker: "w", Value: []byte("of " + g.Name)}
	b, err := r.Encode()
	s.OK(err)
	s.put(taskslot.Key(g), b)
}

func (s slotter) put(key posthouse.SlotKey, b []byte) {
	s.Helper()
	_, err := s.Store.Slot(s.Ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: b, Revision: posthouse.AnyRevision})
	s.OK(err)
}

func (s slotter) resolve(g *posthouse.Gate, o commit.TaskOutcome) *posthouse.Gate {
	s.Helper()
	o.By = "worker:w"
	_, next, err := commit.ResolveTask(s.Ctx, s.d.Core(), commit.RefOf(g), &o)
	s.OK(err)
	return next
}

// has reports whether a slot is there, as it was written.
func (s slotter) has(key posthouse.SlotKey, want string) bool {
	s.Helper()
	slot, err := s.Store.Slot(s.Ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err == nil && want != "" {
		var r taskslot.Record
		s.OK(r.Decode(slot.Value))
		if string(r.Value) != want {
			s.Errorf("slot %+v has %q, want %q", key, r.Value, want)
		}
	}
	return err == nil
}

func slotsGo(t *desk.T) {
	now := t.Builder.Now()
	d := t.Desk(ledger.Options{Now: func() time.Time { return now }})
	s := slotter{t, d}
	output := commit.TaskOutcome{Output: json.RawMessage("1")}
	stays := map[string]*posthouse.Gate{}
	goes := map[string]*posthouse.Gate{}
	for _, name := range []string{"complete", "complete at the second attempt"} {
		goes[name] = s.handOut("t", name)
	}
	s.resolve(goes["complete"], output)
	second := goes["complete at the second attempt"]
	second = s.resolve(second, commit.TaskOutcome{Next: commit.NextAttempt(second.Call, d.Now(), "it broke", 0), Why: "failed"})
	s.save(second)
	s.resolve(second, output)
	for _, name := range []string{"open", "failed", "parked", "withdrawn", "next attempt", "young"} {
		stays[name] = s.handOut("t", name)
	}
	s.resolve(stays["failed"], commit.TaskOutcome{Failed: "no such page"})
	s.resolve(stays["parked"], commit.TaskOutcome{Waits: json.RawMessage(`[]`)})
	s.resolve(stays["withdrawn"], commit.TaskOutcome{Withdrawn: "the approval lapsed"})
	again := stays["next attempt"]
	s.resolve(again, commit.TaskOutcome{Next: commit.NextAttempt(again.Call, d.Now(), "it broke", 0), Why: "failed"})
	stays["held"] = s.handOut("held", "held")
	s.resolve(stays["held"], output)
	_, err := retain.Hold(t.Ctx, d.Ledger, "held", retain.HoldOptions{By: "legal"})
	t.OK(err)
	own := posthouse.SlotKey{Thread: "t", Step: "1/work/own"}
	s.put(own, []byte("what a program keeps"))

	now = now.Add(2 * time.Hour)
	s.resolve(stays["young"], output)
	before, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	policy := retain.Policy{Slots: time.Hour}
	for _, dry := range []bool{true, false} {
		done, err := retain.Run(t.Ctx, d.Ledger, policy, &retain.Options{DryRun: dry})
		t.OK(err)
		if done.Slots != len(goes) || done.Bytes == 0 || done.Checkpoints+done.Finished != 0 {
			t.Errorf("dry run %t: %+v, want %d slots", dry, done, len(goes))
		}
		for name, g := range goes {
			if s.has(taskslot.Key(g), "") != dry {
				t.Errorf("dry run %t: the slot of the task %q", dry, name)
			}
		}
	}
	for name, g := range stays {
		if !s.has(taskslot.Key(g), "of "+g.Name) {
			t.Errorf("the slot of the task %q is gone", name)
		}
	}
	if !s.has(own, "") {
		t.Error("what is no task's is gone")
	}
	if after, err := d.Thread(t.Ctx, "t"); err != nil || after.Tail != before.Tail {
		t.Errorf("the log went on: %+v, %v", after, err)
	}
	done, err := retain.Run(t.Ctx, d.Ledger, policy, nil)
	t.OK(err)
	if done.Slots != 0 {
		t.Errorf("a second pass: %+v", done)
	}
}
