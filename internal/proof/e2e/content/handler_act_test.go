package content_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// handsOut has a worker's handler do all of a payment: propose it, and make it.
func handsOut(h *house) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		return step.RemoteWith[string](ctx, "pay", "pay", amount, runs.RemoteOptions{Effect: posthouse.EffectWrite, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 5, InitialDelay: time.Millisecond, MaxDelay: time.Millisecond}}})
	}).Open(h.ledger, nil))(h)
}

// A bank counts transfers by their keys.
type handlerBank struct {
	paid atomic.Int64
	last atomic.Value // of the transfer that came last
	keys chan string
}

func newBank() *handlerBank { return &handlerBank{keys: make(chan string, 100)} }

func (b *handlerBank) pay(ctx context.Context, t bankTransfer) (string, error) {
	b.paid.Add(1)
	b.last.Store(t)
	b.keys <- step.Key(ctx)
	return fmt.Sprintf("paid %d to %s", t.Amount, t.To), nil
}

// A handlerPay is a handler that proposes its transfer and makes it.
type handlerPay struct {
	question gate.Question
	opt      gate.ActOptions[bankTransfer, string]
	pay      func(context.Context, bankTransfer) (string, error)
}

func (p *handlerPay) handle(t worker.Task, amount int) (string, error) {
	grant, err := gate.Propose(t.Context(), p.question, bankTransfer{"bob", amount})
	if err != nil {
		return "", err
	}
	return gate.Act(t.Context(), "pay", grant, p.pay, p.opt)
}

func payQuestion() gate.Question {
	return gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}
}

// serve runs a worker with a handler, until stop is called.
func (k *desk) serve(name string, e task.Engine, handle func(worker.Task, int) (string, error)) (stop func()) {
	k.Helper()
	w := must(worker.New(e, &worker.Options{Name: name, DrainTimeout: time.Millisecond}))(k.house)
	worker.Handle(w, "pay", handle)
	ctx, cancel := context.WithCancel(k.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() { cancel(); <-ended }
}

// handled waits until no task of a thread is open.
func (h *house) handled(thread string) {
	h.Helper()
	patience := 20 * time.Second
	if h.clock != nil {
		patience = time.Hour
	}
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	open := func() bool {
		for g, err := range h.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask, Thread: thread}) {
			if err != nil {
				h.Fatal(err)
			}
			if g != nil {
				return true
			}
		}
		return false
	}
	for _, err := range h.ledger.Watch(ctx, ledger.WatchQuery{Thread: thread}) {
		if err != nil {
			h.Fatal(err)
		}
		if !open() {
			return
		}
	}
}

// resumeHandled has a flow go on, and waits for what it hands out.
func (h *house) resumeHandled(app *flow.App[int, string], thread, branch string) *flow.Result[string] {
	h.Helper()
	res, err := app.Resume(h.Context(), thread, flow.RunOptions{Branch: branch})
	if err != nil {
		h.Fatal(err)
	}
	h.handled(thread)
	return res
}

// verified checks all signatures and grants of the store.
func (h *house) verified() {
	h.Helper()
	r := must(sign.Verify(h.Context(), h.store, nil, &sign.VerifyOptions{RequireGrants: true}))(h)
	if len(r.Faults) > 0 {
		h.Errorf("r.Faults %+v", r.Faults)
	}
}

// TestHandlerProposesAndActs: a handler of a worker proposes an effect and runs it under the
// decision, edited as it was. It is on record as a program's is, and runs once.
func TestHandlerProposesAndActs(t *testing.T) {
	for _, verdict := range []posthouse.Verdict{posthouse.Approve, posthouse.Edit} {
		t.Run(string(verdict), func(t *testing.T) {
			onStores(t, func(h *house) {
				h.grants = true
				h.restart()
				app, bank := handsOut(h), newBank()
				k := h.desk()
				defer k.stop()
				p := &handlerPay{question: payQuestion(), pay: bank.pay}
				defer k.serve("w2", k.d, p.handle)()
				must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
				h.handled("t")
				h.resumeHandled(app, "t", "")
				q := h.only("t")
				if q.Uses != 1 || q.ValidFor != time.Hour || q.RequestedBy != "bob" {
					h.Errorf("it asks %+v", q)
				}
				if _, err := h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); !errors.Is(err, posthouse.ErrForbidden) {
					h.Errorf("who asked for it approves it: %v", err)
				}
				d := posthouse.Decision{Verdict: verdict, By: "alice"}
				want := "paid 10 to bob"
				if verdict == posthouse.Edit {
					d.Value, want = []byte(`{"To":"carol","Amount":7}`), "paid 7 to carol"
				}
				must(h.ledger.Decide(h.Context(), q.ID, d))(h)
				h.resumeHandled(app, "t", "")
				if res := must(app.Resume(h.Context(), "t"))(h); res.Output != want || bank.paid.Load() != 1 {
					h.Errorf("%+v after %d payments", res, bank.paid.Load())
				}
				g := h.grantIs(q.ID, grants.Executed)
				if len(g.Uses) != 1 || len(g.Uses[0].Attempts) != 1 || g.Uses[0].Attempts[0].Worker != "worker:w2" || string(g.Uses[0].Result.Data) != `"`+want+`"` {
					h.Errorf("g.Uses %+v", g.Uses)
				}
				if all := must(ledger.Effects(h.Context(), h.ledger, "t"))(h); len(all) != 1 || all[0].Grant != q.ID || all[0].Effect != posthouse.EffectExternal {
					h.Errorf("all %+v", all)
				}
				h.verified()
				if key := <-bank.keys; key == "" {
					h.Error("the effect has no key")
				}
			})
		})
	}
}
