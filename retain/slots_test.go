package retain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A call is a task as a test knows it: its newest gate, and what its slot has.
type call struct {
	gate     *posthouse.Gate
	open     bool
	failed   bool
	complete time.Time // zero: it is not
	slot     []byte    // nil: never claimed
	claimed  bool      // the newest attempt was
}

// TestSlotsOfUnfinishedTasksStay: whatever became of tasks, a policy takes no slot that a retry, a
// next attempt or a handler that was parked would find, takes those of tasks that were complete
// long ago, and says both in a dry run.
func TestSlotsOfUnfinishedTasksStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, now := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		store := memstore.New()
		l, err := ledger.Open(store, &ledger.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		write := func(c *call, r taskslot.Record) {
			r.Call, r.Value = c.gate.Call.ID, fmt.Append(nil, "saved for ", c.gate.ID, " at ", now)
			c.slot, err = r.Encode()
			ok(err)
			_, err = store.Slot(ctx, taskslot.Key(c.gate), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: c.slot, Revision: posthouse.AnyRevision})
			ok(err)
		}
		resolve := func(c *call, o commit.TaskOutcome) {
			o.By = "worker:w"
			_, next, err := commit.ResolveTask(ctx, l.Core(), commit.RefOf(c.gate), &o)
			ok(err)
			c.open = next != nil
			if c.open {
				c.gate, c.claimed = next, false
			}
		}
		var calls []*call
		for range rapid.IntRange(5, 40).Draw(t, "acts") {
			act := rapid.IntRange(0, 8).Draw(t, "act")
			if act == 0 || len(calls) == 0 {
				name := fmt.Sprint("task", len(calls))
				done, err := l.Commit(ctx, &ledger.Draft{Thread: "t", KeepOpen: true, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{
					Name: name, Task: "1/work", Kind: posthouse.GateTask, Payload: json.RawMessage("1"),
					Call: &posthouse.TaskCall{Task: "work", Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 3}}},
				}}})
				ok(err)
				calls = append(calls, &call{gate: &done.Gates[0], open: true})
				continue
			}
			c := calls[rapid.IntRange(0, len(calls)-1).Draw(t, "call")]
			switch {
			case act == 1:
				now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			case act == 2 && c.failed:
				again, err := ledger.RetryTask(ctx, l, c.gate.ID, &ledger.RetryOptions{By: "alice", Fork: func(_ context.Context, _, again *posthouse.Gate) error {
					if next := (&call{gate: again}); c.slot != nil { // as package dispatch copies it
						write(next, taskslot.Record{})
					}
					return nil
				}})
				if err != nil {
					continue // it was retried, or the branch waits
				}
				next := &call{gate: again, open: true}
				if slot, err := store.Slot(ctx, taskslot.Key(again), posthouse.SlotOp{Verb: posthouse.SlotGet}); err == nil {
					next.slot = slot.Value
				}
				calls = append(calls, next)
			case !c.open:
			case act <= 4:
				write(c, taskslot.Record{Gate: c.gate.ID, Session: "s"})
				c.claimed = true
			case !c.claimed:
			case act == 5:
				resolve(c, commit.TaskOutcome{Output: json.RawMessage("1")})
				c.complete = now
			case act == 6:
				resolve(c, commit.TaskOutcome{Failed: "it broke"})
				c.failed = true
			case act == 7:
				resolve(c, commit.TaskOutcome{Waits: json.RawMessage("[]")})
			case act == 8:
				if next := commit.NextAttempt(c.gate.Call, now, "it broke", 0); next != nil {
					resolve(c, commit.TaskOutcome{Next: next, Why: "it broke"})
				}
			}
		}
		const limit = time.Hour
		policy := retain.Policy{Slots: limit}
		dry, err := retain.Run(ctx, l, policy, &retain.Options{DryRun: true})
		ok(err)
		done, err := retain.Run(ctx, l, policy, nil)
		ok(err)
		gone := 0
		for _, c := range calls {
			slot, err := store.Slot(ctx, taskslot.Key(c.gate), posthouse.SlotOp{Verb: posthouse.SlotGet})
			goes := !c.complete.IsZero() && now.Sub(c.complete) > limit
			switch {
			case goes && err == nil:
				t.Fatalf("the slot of a task that is complete since %s is there at %s", c.complete, now)
			case goes:
				gone++
			case !bytes.Equal(slot.Value, c.slot):
				t.Fatalf("the slot of %+v has %q, want %q", c, slot.Value, c.slot)
			}
		}
		if dry.Slots != gone || done.Slots != gone {
			t.Fatalf("%d slots went; the dry run said %d, the report %d", gone, dry.Slots, done.Slots)
		}
	})
}
