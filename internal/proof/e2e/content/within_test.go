package content_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/transfer"
)

// paysAndWaits proposes a transfer, makes it in a step, and waits for the money to clear.
func paysAndWaits(h *house, b *bank) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
			receipt, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) { return b.pay(ctx, t) })
			if err != nil {
				return "", err
			}
			return receipt, step.Sleep(ctx, "clear", 25*time.Hour)
		})
	}).Open(h.ledger, nil))(h)
}

// Steps within an effect stay with it when its step restarts.
func TestAttemptToForgetStepsOfAnEffect(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := paysAndWaits(h, b)
		grant, head := approvedAtWorker(h, app)
		kept := must(h.ledger.RestartStep(h.Context(), head, nil))(h).Kept
		if len(kept) != 1 || kept[0].Name != "pay>pay" {
			h.Errorf("kept %+v", kept)
		}
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
		h.now = h.now.Add(26 * time.Hour)
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "receipt 1" {
			h.Errorf("result %+v", res)
		}
		b.want(h, bankTransfer{"bob", 10})
		h.grantIs(grant, grants.Executed)
	})
}

// The answer in a copy of a thread is for reading, also where the thread went on after it.
func TestAttemptToCopyAnAnswerAndWhatFollowed(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		approvedAtWorker(h, app)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		k := h.desk()
		defer k.stop()
		if c := k.claim(); c == nil || c.Thread != "t" {
			h.Fatalf("%+v", c)
		}
		for range 2 {
			if c := k.claim(); c != nil {
				h.Fatalf("the copy has a task on the approval: %+v", c)
			}
			must(app.Resume(h.Context(), "copy"))(h)
		}
		h.only("copy")
	})
}

// A copy of a thread does not go on with what a worker had begun in the original.
func TestAttemptToCopyWhatAWorkerHasBegun(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		k := h.desk()
		defer k.stop()
		approvedAtWorker(h, app)
		waits := []task.Wait{{Question: &posthouse.Gate{Name: "sure", Kind: posthouse.GateApproval, Text: "Sure?"}}}
		if err := k.d.Resolve(h.Context(), k.claim().ID, task.Verdict{Action: task.Await, Waits: waits}); err != nil {
			h.Fatal(err)
		}
		must(app.Resume(h.Context(), "t"))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		head := must(app.Resume(h.Context(), "t"))(h).Checkpoint
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Thread: "away"}))(h)
		must(h.ledger.Fork(h.Context(), head, nil))(h)
		if again := k.claim(); again == nil || again.Thread != "t" {
			h.Fatalf("again %+v", again)
		}
		if again := k.claim(); again != nil {
			h.Errorf("%s has a task on the same approval", again.Thread)
		}
	})
}

// Whoever changes a request in a fork to a thread is added to those who changed it before, however
// long their list is.
func TestWhoForksAChangedRequestCannotApproveIt(t *testing.T) {
	onStores(t, func(h *house) {
		app := h.payGraph(gate.Question{}, false)
		must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		for range 2 {
			for _, by := range []string{"bob", "carl-the-first", "carl-the-second", "carl-the-third"} {
				must(app.Update(h.Context(), "t", func(b *bill) { b.To, b.Amount, b.Note = "shop of "+by, b.Amount+1, by }, graph.UpdateOptions{By: by}))(h)
			}
		}
		head := must(h.ledger.Thread(h.Context(), "t"))(h).Branches[0].Head
		must(app.Fork(h.Context(), head, func(b *bill) { b.To = "mallory" }, graph.ForkOptions{Thread: "away", By: "mallory"}))(h)
		h.restart()
		must(h.payGraph(gate.Question{}, false).Resume(h.Context(), "away"))(h)
		h.refuse(h.only("away"), "bob", "carl-the-first", "carl-the-second", "carl-the-third", "mallory")
	})
}

// A worker's word that it did not act says nothing about an earlier attempt with a lost worker.
func TestAttemptToForgetALostAttemptByALaterOne(t *testing.T) {
	onStores(t, func(h *house) {
		app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
			if err != nil {
				return "", err
			}
			return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
				return step.RemoteWith[string](ctx, "pay", "pay", t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Millisecond}}})
			}, gate.ActOptions[bankTransfer, string]{Idempotent: true})
		}).Open(h.ledger, nil))(h)
		k := h.desk()
		defer k.stop()
		grant, _ := approvedAtWorker(h, app)
		for _, v := range []task.Verdict{{Action: task.Unknown, Reason: "the line broke"}, {Action: task.Fail, Reason: "no funds"}} {
			h.now = h.now.Add(time.Second)
			if err := k.d.Resolve(h.Context(), k.claim().ID, v); err != nil {
				h.Fatal(err)
			}
		}
		if _, err := app.Resume(h.Context(), "t"); err == nil {
			h.Error("it did not fail")
		}
		h.grantIs(grant, grants.Unknown)
	})
}

// A copy of a thread asks again about an effect, also once the original was removed.
func TestACopyAsksAgainOnceItsOriginalIsGone(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		flows, graphs := paysAndWaits(h, b), sleeping(h, b)
		approvedAtWorker(h, flows)
		must(graphs.Run(h.Context(), "g", deal{Amount: 10}))(h)
		h.decide(h.only("g").ID, posthouse.Approve, "alice")
		must(graphs.Resume(h.Context(), "g"))(h)
		for _, thread := range []string{"t", "g"} {
			must(transfer.CopyThread(h.Context(), h.ledger, thread, "copy-of-"+thread, nil))(h)
			must(retain.DeleteThread(h.Context(), h.ledger, thread, nil))(h)
		}
		h.now = h.now.Add(26 * time.Hour)
		must(flows.Resume(h.Context(), "copy-of-t"))(h)
		must(graphs.Resume(h.Context(), "copy-of-g"))(h)
		h.decide(h.only("copy-of-t").ID, posthouse.Approve, "alice")
		h.decide(h.only("copy-of-g").ID, posthouse.Approve, "alice")
		must(flows.Resume(h.Context(), "copy-of-t"))(h)
		must(graphs.Resume(h.Context(), "copy-of-g"))(h)
		b.want(h, bankTransfer{"bob", 10}, bankTransfer{"bob", 10})
	})
}

// A policy keeps the answers in a copy about which it asks again, also where those of the original
// were used and are gone.
func TestRetentionKeepsAnswersInCopies(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := sleeping(h, b)
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		tidy := func() {
			h.now = h.now.Add(13 * time.Hour)
			must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
			compact(h)
		}
		tidy()
		must(app.Resume(h.Context(), "t"))(h)
		tidy()
		must(app.Resume(h.Context(), "copy"))(h)
		h.decide(h.only("copy").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "copy"))(h)
		b.want(h, bankTransfer{"bob", 10}, bankTransfer{"bob", 10})
	})
}

// A copy has the answers that it asks about again, also those from checkpoints that a policy
// removed.
func TestACopyHasAnswersThatRetentionKept(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := sleeping(h, b)
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		tidy := func() {
			must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
			compact(h)
			h.now = h.now.Add(13 * time.Hour)
		}
		tidy()
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		must(app.Resume(h.Context(), "t"))(h)
		tidy()
		must(app.Resume(h.Context(), "copy"))(h)
		h.decide(h.only("copy").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "copy"))(h)
		b.want(h, bankTransfer{"bob", 10}, bankTransfer{"bob", 10})
	})
}

// Whoever sent a signal before a fork in a thread of its own cannot approve what it asks for there.
func TestWhoSentASignalBeforeAForkCannotApprove(t *testing.T) {
	onStores(t, func(h *house) {
		app := h.payGraph(gate.Question{}, true)
		must(app.Run(h.Context(), "t", bill{Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		wait := must(h.ledger.Thread(h.Context(), "t"))(h).Branches[0].Head
		must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "payee", Value: []byte(`"mallory"`), By: "mallory"}))(h)
		ready := must(h.ledger.Fork(h.Context(), wait, nil))(h)
		must(h.ledger.Fork(h.Context(), ready.ID, &ledger.ForkOptions{Thread: "away", By: "otto"}))(h)
		must(app.Resume(h.Context(), "away"))(h)
		h.refuse(h.only("away"), "mallory", "bob")
	})
}
