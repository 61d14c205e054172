package threads_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestDryRuns: what would be deleted is said, as the deletion says it afterwards, and nothing is gone.
func TestDryRuns(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	d.Ask("order-1", "acme")
	ids := strings.Fields(d.Run(0, "checkpoint", "list", "--thread", "order-1", "--order", "asc", "-q"))
	if len(ids) != 2 {
		t.Fatalf("the checkpoints are %q", ids)
	}
	for _, args := range [][]string{
		{"checkpoint", "delete", ids[0], "--mode", "subtree"}, {"checkpoint", "delete", ids[1]}, {"thread", "delete", "order-1"},
	} {
		var would, done struct {
			DryRun                       bool
			Checkpoints, Gates, Versions int
			Refused                      string
		}
		dry := d.Run(0, append(args, "--dry-run", "--json")...)
		if err := json.Unmarshal([]byte(dry), &would); err != nil || !would.DryRun || would.Refused != "" || would.Gates != 1 {
			t.Errorf("%v: %+v, %v", args, would, err)
		}
		if again := d.Run(0, append(args, "--dry-run", "--json")...); again != dry {
			t.Errorf("%v a second time: %s, first %s", args, again, dry)
		}
		if args[0] == "thread" {
			break
		}
		fork := strings.TrimSpace(d.Run(0, "inbox", "-q"))
		if fork == "" {
			t.Fatalf("%v --dry-run withdrew the question", args)
		}
		if args[2] == ids[1] {
			if err := json.Unmarshal([]byte(d.Run(0, append(args, "--yes", "--json")...)), &done); err != nil || done.Checkpoints != would.Checkpoints || done.Gates != would.Gates {
				t.Errorf("%v takes %+v, %v, the dry run said %+v", args, done, err, would)
			}
			d.Ask("order-1", "acme") // for what comes next
		}
	}
	clitest.Wants(t, "a checkpoint with children", d.Run(0, "checkpoint", "delete", ids[0], "--dry-run"), "it would be refused", "--mode")
	d.Run(0, "thread", "hold", "order-1", "--reason", "court")
	clitest.Wants(t, "a thread under hold", d.Run(0, "thread", "delete", "order-1", "--dry-run"), "it would be refused: the thread is under legal hold")
	clitest.Wants(t, "an unknown thread", d.Run(3, "thread", "delete", "nowhere", "--dry-run"), "nowhere")
	d.Run(0, "thread", "unhold", "order-1")
	d.Run(0, "thread", "release", "order-1", "--tag", "v")
	clitest.Wants(t, "a version", d.Run(0, "thread", "drop", "order-1", "v", "--dry-run"), "would be deleted: ", "versions ", "nothing was deleted")
	clitest.Wants(t, "an unknown version", d.Run(3, "thread", "drop", "order-1", "7", "--dry-run"), "7")
}

// TestDryRunOfAForkWhereARunFailed: it says how the effect was tried, that its decision does not count, and for
// which node it is not known what else it does. In JSON it says the same.
func TestDryRunOfAForkWhereARunFailed(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	id := d.Ask("order-1", "closed")
	d.Run(1, "approve", string(id))
	head := strings.Fields(d.Run(0, "checkpoint", "list", "--thread", "order-1", "-q"))[0]
	clitest.Wants(t, "the plan", d.Run(0, "checkpoint", "fork", head, "--dry-run"),
		"transfer (external, asks again before, as the decision of "+string(id)+" does not count there): did not act in 1 attempt: ",
		"main failed in transfer at #", "what else transfer asks or does is not known: its code decides that as it runs")
	var p struct {
		Tried []struct{ Name, Status, Error string }
		End   struct {
			Status, Error string
			Next          []string
		}
	}
	text := d.Run(0, "checkpoint", "fork", head, "--dry-run", "--json")
	if err := json.Unmarshal([]byte(text), &p); err != nil || len(p.Tried) != 1 || p.Tried[0].Status != "decided" || p.End.Status != "failed" || p.End.Error == "" || len(p.End.Next) != 1 {
		t.Errorf("%+v, %v: %s", p, err, text)
	}
}

// TestDryRunOfAForkWhereATaskFailed: it says that the task is handed out again, and why it failed.
func TestDryRunOfAForkWhereATaskFailed(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	ctx, l := t.Context(), d.Ledger
	done := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"call"}},
		Gates: []posthouse.Gate{{Name: "task:price", Task: "1/call", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "price"}}},
	}))(t)
	_, _, err := commit.ResolveTask(ctx, l.Core(), commit.GateRef{Gate: done.Gates[0].ID}, &commit.TaskOutcome{By: "worker:w", Failed: "no \x1b[31mprice"})
	must.Do(t, err)
	head := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"call"}, Error: "no price"}}))(t).Checkpoint
	for at, when := range map[posthouse.ID]string{head.ID: "once it comes there", done.Checkpoint.ID: "at once"} {
		out := d.Run(0, "checkpoint", "fork", string(at), "--dry-run")
		clitest.Wants(t, "the plan", out, "asked again", "1/call: task:price (task, "+when+"): handed out again, as it failed with no ")
		if strings.Contains(out, "answered, and not asked again") || strings.Contains(out, "\x1b") {
			t.Errorf("the plan is %q", out)
		}
	}
}
