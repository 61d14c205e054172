package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
)

// doubles remember their calls, also of processes that were killed.
type doubles struct {
	model *posthousetest.Tool[string, string]
	bank  *posthousetest.Tool[Payment, string]
}

func newDoubles(t *testing.T) *doubles {
	return &doubles{
		model: posthousetest.NewTool(t, "model", func(ctx context.Context, message string) (string, error) { return fakeModel{}.Reply(ctx, "", message) }),
		bank:  posthousetest.NewTool(t, "bank", transfer),
	}
}

// Reply makes doubles a model.
func (d *doubles) Reply(ctx context.Context, _, message string) (string, error) {
	return d.model.Call(ctx, message)
}

// open makes the graph over the Ledger of a process. posthousetest calls it again after each kill.
func (d *doubles) open(led *ledger.Ledger) ([]posthouse.Program, error) {
	refunds, err := refund(d, lookUp, d.bank.Call).Compile(led, nil)
	if err != nil {
		return nil, err
	}
	return refunds.Programs(), nil
}

// answer returns the answer to the customer of a thread.
func answer(t *posthousetest.Thread) (s string) {
	t.Decode("Answer", &s)
	return s
}

var message = Refund{Message: "please refund order 1234"}

// TestApproved pays what ann approved.
func TestApproved(t *testing.T) {
	d := newDoubles(t)
	env := posthousetest.New(t, d.open, nil)
	env.Answer("refund", posthousetest.Approve("ann"))
	thread := env.Start("refund", "case-1", message).Done()
	if paid := d.bank.Once().In; paid != (Payment{"1234", 4999}) || thread.Acted("transfer").By() != "ann" {
		t.Errorf("it paid %+v", paid)
	}
	if said := answer(thread); said != "We refund 4999 cents for order 1234, approved by ann." {
		t.Errorf("it says %q", said)
	}
}

// TestEdited pays what ann made of it.
func TestEdited(t *testing.T) {
	d := newDoubles(t)
	env := posthousetest.New(t, d.open, nil)
	env.Answer("refund", posthousetest.Edit("ann", Payment{"1234", 100}))
	env.Start("refund", "case-1", message).Done()
	if paid := d.bank.Once().In; paid.Amount != 100 {
		t.Errorf("it paid %+v", paid)
	}
}

// TestRejected pays nothing, and neither does a question without an answer, nor an order that is not there.
func TestRejected(t *testing.T) {
	d := newDoubles(t)
	env := posthousetest.New(t, d.open, nil)
	env.Answer("refund", posthousetest.Reject("ann", "it is too late"))
	if said := answer(env.Start("refund", "case-1", message).Done()); said != "We cannot refund order 1234." {
		t.Errorf("rejected, it says %q", said)
	}

	waits := env.Start("refund", "case-2", message).Must(posthouse.StatusWaiting)
	if q := waits.Question("refund"); q.Text != "Refund 4999 cents for order 1234?" {
		t.Errorf("it asks %q", q.Text)
	}
	env.Advance(48 * time.Hour) // the question expires
	waits.Must(posthouse.StatusFailed).NotActed("transfer")

	if said := answer(env.Start("refund", "case-3", Refund{Message: "please refund my lamp"}).Done()); !strings.Contains(said, "no order none") {
		t.Errorf("of no order it says %q", said)
	}
	d.bank.Times(0)
}

// TestEveryKill kills the process at each side of each entry of the log: ann is asked once, and the
// customer is paid once. A step without its result on record runs again, so the model may be asked twice.
func TestEveryKill(t *testing.T) {
	posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
		d := newDoubles(t)
		env := posthousetest.New(t, d.open, &posthousetest.Options{Kill: k, Tools: []posthousetest.Witness{d.bank}})
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("refund", "case-1", message).Done().Acted("transfer")
		d.bank.Times(1)
		d.model.Once() // with one key, however often it was called
	})
}
