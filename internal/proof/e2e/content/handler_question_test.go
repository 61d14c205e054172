package content_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
)

// TestAHandlersQuestionIsOfTheRunsRequesters: who gave the run its input, or changed it, cannot
// approve what a handler asks about it. The answer is inherited by a fork, and licenses no effect.
func TestAHandlersQuestionIsOfTheRunsRequesters(t *testing.T) {
	onStores(t, func(h *house) {
		acted := 0
		app := must(flow.New("ship", func(ctx context.Context, to string) (string, error) {
			out, err := step.Remote[string](ctx, "pay", "pay", to)
			if err != nil {
				return "", err
			}
			for _, g := range h.handlerGates() {
				_, err := gate.Act(ctx, "act-"+string(g.ID), gate.Grant(g.ID), func(context.Context, string) (string, error) { acted++; return "", nil })
				if !errors.Is(err, posthouse.ErrForbidden) {
					h.Errorf("an answer to a handler licenses an effect: %v", err)
				}
			}
			return out, nil
		}).Open(h.ledger, nil))(h)
		k := h.desk()
		defer k.stop()
		must(app.Run(h.Context(), "t", "alice", flow.RunOptions{By: "bob"}))(h)
		asks := func(c *task.Claim) {
			h.Helper()
			q := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: "Ship it?"}
			if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &q}}}); err != nil {
				h.Fatal(err)
			}
		}
		asks(k.claim())
		must(app.Resume(h.Context(), "t", flow.RunOptions{By: "carol"}))(h)
		q := h.only("t")
		if q.RequestedBy != "bob" {
			h.Errorf("it is asked for %q", q.RequestedBy)
		}
		if _, err := h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("who asked for it approves it: %v", err)
		}
		h.decide(q.ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		head := must(h.ledger.Thread(h.Context(), "t"))(h)
		main, _ := head.Branch(posthouse.MainBranch)
		fork := must(h.ledger.Fork(h.Context(), main.Head, &ledger.ForkOptions{Branch: "other"}))(h)
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: fork.Branch}))(h)
		if asked := h.inbox("t"); len(asked) != 0 {
			h.Errorf("the fork asks again: %+v", asked)
		}
		for range 2 { // both branches
			c := k.claim()
			if c == nil {
				h.Fatal("no task")
			}
			have := must(k.d.Records(h.Context(), c.ID, ""))(h)
			if len(have.Gates) != 1 || have.Gates[0].Decision == nil || have.Gates[0].Decision.By != "alice" {
				h.Errorf("the handler finds %+v", have.Gates)
			}
			if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte(`"shipped"`)}); err != nil {
				h.Fatal(err)
			}
		}
		for _, branch := range []string{posthouse.MainBranch, fork.Branch} {
			if res := must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: branch}))(h); res.Output != "shipped" {
				h.Errorf("result %+v", res)
			}
		}
		if acted != 0 {
			h.Errorf("%d effects ran", acted)
		}
	})
}

// handlerGates returns the decided questions to people of thread t.
func (h *house) handlerGates() (gates []*posthouse.Gate) {
	h.Helper()
	for e, err := range h.ledger.Watch(h.Context(), ledger.WatchQuery{Thread: "t"}) {
		if err != nil {
			h.Fatal(err)
		}
		if e.Gate != nil && e.Gate.AsksPeople() {
			if g := must(h.ledger.Gate(h.Context(), e.Gate.ID))(h); g.Decision != nil {
				gates = append(gates, g)
			}
		}
		if info := must(h.ledger.Thread(h.Context(), "t"))(h); e.Seq == info.Tail.Seq {
			break
		}
	}
	return gates
}
