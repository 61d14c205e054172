package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
)

type workerReceipt struct{ ID string }

// receiptAtWorker proposes a transfer, has a worker make it, and returns its receipt.
func receiptAtWorker(h *house) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		r, err := gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (workerReceipt, error) {
			return step.Remote[workerReceipt](ctx, "pay", "pay", t)
		})
		return r.ID, err
	}).Open(h.ledger, nil))(h)
}

// misfits are replies that the program does not take.
var misfits = []string{`null`, `{"ID":5}`, `{"Receipt":"r"}`, `{"id":"r"}`, `{"ID":"r","amount":5}`}

// TestReplyThatDoesNotFit: it is refused by name and is on record, and another may come. Without
// another, people are asked, with what the worker said.
func TestReplyThatDoesNotFit(t *testing.T) {
	for _, reply := range misfits {
		t.Run(reply, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := receiptAtWorker(h)
				k := h.desk()
				defer k.stop()
				grant, _ := approvedAtWorker(h, app)
				c := k.claim()
				for range 2 {
					err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(reply)})
					e, ok := errors.AsType[*posthouse.Error](err)
					if !ok || e.Code != posthouse.CodeInvalid || e.Field != "output" {
						h.Fatalf("the reply %s: %v", reply, err)
					}
				}
				if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Fail, Reason: "refused"}); err != nil {
					h.Fatal(err)
				}
				h.asksWithReply(app, grant, reply)
				if other := k.claim(); other != nil {
					h.Errorf("another attempt: %+v", other)
				}
			})
		})
	}
}

// asksWithReply resumes the thread, and wants people to be asked, with what the worker said. They say
// that it was done.
func (h *house) asksWithReply(app *flow.App[int, string], grant posthouse.ID, reply string) {
	h.Helper()
	if res, err := app.Resume(h.Context(), "t"); err != nil || res.Status != posthouse.StatusWaiting {
		h.Fatalf("%+v, %v", res, err)
	}
	h.grantIs(grant, grants.Unknown)
	q := h.only("t")
	if !q.AsksOutcome() || q.Attempt == nil || string(q.Attempt.Said) != reply || !strings.Contains(q.Note, reply) {
		h.Fatalf("people are asked %+v, %+v", q, q.Attempt)
	}
	must(h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Happened, By: "alice", Value: json.RawMessage(`{"ID":"r-1"}`)}))(h)
	if res, err := app.Resume(h.Context(), "t"); err != nil || res.Output != "r-1" {
		h.Errorf("%+v, %v", res, err)
	}
}

// TestSecondReplyFits: what is refused leaves the claim as it is.
func TestSecondReplyFits(t *testing.T) {
	onStores(t, func(h *house) {
		app := receiptAtWorker(h)
		k := h.desk()
		defer k.stop()
		approvedAtWorker(h, app)
		c := k.claim()
		if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete}); !errors.Is(err, posthouse.ErrInvalid) {
			h.Errorf("no output: %v", err)
		}
		if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`{"ID":"r-2"}`)}); err != nil {
			h.Fatal(err)
		}
		if res, err := app.Resume(h.Context(), "t"); err != nil || res.Output != "r-2" {
			h.Errorf("%+v, %v", res, err)
		}
	})
}

// TestRecordedReplyDoesNotFit: a process without the program took it. People are asked, and what is
// done again at their word is another task.
func TestRecordedReplyDoesNotFit(t *testing.T) {
	for _, redo := range []bool{false, true} {
		onStores(t, func(h *house) {
			grant, _ := approvedAtWorker(h, receiptAtWorker(h))
			h.restart()
			k := h.desk()
			defer k.stop()
			c := k.claim()
			if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`{"ID":5}`)}); err != nil {
				h.Fatal(err)
			}
			app := receiptAtWorker(h)
			if !redo {
				h.asksWithReply(app, grant, `{"ID":5}`)
				return
			}
			must(app.Resume(h.Context(), "t"))(h)
			must(h.ledger.Decide(h.Context(), h.only("t").ID, posthouse.Decision{Verdict: posthouse.Redo, By: "alice"}))(h)
			must(app.Resume(h.Context(), "t"))(h)
			again := k.claim()
			if again == nil || again.Call == c.Call {
				h.Fatalf("the task is handed out as %+v", again)
			}
			if err := k.d.Resolve(h.Context(), again.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`{"ID":"r-3"}`)}); err != nil {
				h.Fatal(err)
			}
			if res, err := app.Resume(h.Context(), "t"); err != nil || res.Output != "r-3" {
				h.Errorf("%+v, %v", res, err)
			}
		})
	}
}
