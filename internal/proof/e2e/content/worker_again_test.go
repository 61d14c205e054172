package content_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/transfer"
)

// An order is paid at a worker, as a node of its own.
type workerOrder struct {
	Amount  int
	Grant   gate.Grant
	Receipt string
}

// remoteOrders is a graph that proposes a transfer and has a worker make it as a node.
func remoteOrders() *graph.Graph[workerOrder] {
	g := graph.New[workerOrder]("order")
	g.Node("propose", func(ctx context.Context, s *workerOrder) (err error) {
		s.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, bankTransfer{"bob", s.Amount})
		return err
	})
	g.Remote("pay", graph.Remote[workerOrder, bankTransfer, string]{
		Task: "pay",
		Act: func(ctx context.Context, s *workerOrder, open func(context.Context, bankTransfer) (string, error)) (string, error) {
			return gate.Act(ctx, "pay", s.Grant, open)
		},
		Out: func(s *workerOrder, receipt string) error { s.Receipt = receipt; return nil },
	})
	g.Edge(graph.Start, "propose")
	g.Edge("propose", "pay")
	g.Edge("pay", graph.End)
	return g
}

// A remotePayer is a program that has a worker pay.
type remotePayer struct {
	run    func() error
	resume func(thread, branch string) (posthouse.Status, string, error)
	replay func(checkpoint posthouse.ID) error
}

var remotePayers = map[string]func(h *house) remotePayer{
	"flow": func(h *house) remotePayer {
		app := paysAtWorker(h)
		return remotePayer{
			run: func() error { _, err := app.Run(h.Context(), "t", 10); return err },
			resume: func(thread, branch string) (posthouse.Status, string, error) {
				res, err := app.Resume(h.Context(), thread, flow.RunOptions{Branch: branch})
				if err != nil {
					return "", "", err
				}
				return res.Status, res.Output, nil
			},
			replay: func(id posthouse.ID) error { _, err := app.Replay(h.Context(), id); return err },
		}
	},
	"graph": func(h *house) remotePayer {
		app := must(remoteOrders().Compile(h.ledger, nil))(h)
		return remotePayer{
			run: func() error { _, err := app.Run(h.Context(), "t", workerOrder{Amount: 10}); return err },
			resume: func(thread, branch string) (posthouse.Status, string, error) {
				res, err := app.Resume(h.Context(), thread, graph.RunOptions{Branch: branch})
				if err != nil {
					return "", "", err
				}
				return res.Status, res.State.Receipt, nil
			},
			replay: func(id posthouse.ID) error { _, err := app.Replay(h.Context(), id); return err },
		}
	},
}

// eachRemotePayer runs a test on both programs, where the ledger asks for grants.
func eachRemotePayer(t *testing.T, test func(k *desk, p remotePayer, grant posthouse.ID, head posthouse.ID)) {
	for name, program := range remotePayers {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				h.grants = true
				h.restart()
				p := program(h)
				k := h.desk()
				defer k.stop()
				if err := p.run(); err != nil {
					h.Fatal(err)
				}
				grant := h.only("t").ID
				h.decide(grant, posthouse.Approve, "alice")
				if status, _, err := p.resume("t", ""); err != nil || status != posthouse.StatusWaiting {
					h.Fatalf("status %v, error %v", status, err)
				}
				info := must(h.ledger.Thread(h.Context(), "t"))(h)
				main, _ := info.Branch(posthouse.MainBranch)
				test(k, p, grant, main.Head)
			})
		})
	}
}

// noTask fails the test if a worker gets a task now.
func (k *desk) noTask(what string) {
	k.Helper()
	if c := k.claim(); c != nil {
		k.Errorf("%s has a task on the same approval: %+v", what, c)
	}
}

// TestAttemptToPayAgainAtAWorker: after a worker has paid, the decision is used. A fork, a
// fork to a thread, a copy and a replay are asked for a decision of their own, and a task of
// that one has another key; the task that is complete is not retried.
func TestAttemptToPayAgainAtAWorker(t *testing.T) {
	eachRemotePayer(t, func(k *desk, p remotePayer, grant, head posthouse.ID) {
		h := k.house
		c := k.claim()
		if c == nil || c.Grant != grant {
			h.Fatalf("%+v", c)
		}
		if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
			h.Fatal(err)
		}
		if status, out, err := p.resume("t", ""); err != nil || status != posthouse.StatusDone || out != "paid" {
			h.Fatalf("status %v, output %v, error %v", status, out, err)
		}
		h.grantIs(grant, grants.Executed)
		if _, err := ledger.RetryTask(h.Context(), h.ledger, c.ID.Gate, nil); !errors.Is(err, posthouse.ErrDecided) {
			h.Errorf("retried: %v", err)
		}
		branch := must(h.ledger.Fork(h.Context(), head, nil))(h)
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Thread: "away"}))(h)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		if err := p.replay(head); err != nil {
			h.Error(err)
		}
		k.noTask("one of them")
		for _, at := range []struct{ thread, branch string }{{"t", branch.Branch}, {"away", ""}, {"copy", ""}, {"copy", branch.Branch}} {
			_, _, err := p.resume(at.thread, at.branch)
			if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
				h.Errorf("%v: %v", at, err)
			}
		}
		k.noTask("one that was resumed")
		keys := map[string]bool{c.Key: true}
		asked := 0
		for _, thread := range []string{"t", "away", "copy"} {
			for _, q := range h.inbox(thread) {
				asked++
				h.decide(q.ID, yesTo(q), "alice")
				if _, _, err := p.resume(thread, q.Branch); err != nil {
					h.Fatal(err)
				}
				again := k.claim()
				if again == nil || again.Grant != q.ID || keys[again.Key] {
					h.Fatalf("thread %s, branch %s, decided: %+v", thread, q.Branch, again)
				}
				keys[again.Key] = true
				if err := k.d.Resolve(h.Context(), again.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
					h.Fatal(err)
				}
			}
		}
		if asked < 3 {
			h.Errorf("%d were asked", asked)
		}
	})
}

// TestAttemptToRestartWhatAWorkerDoes: no step begins again while a worker has its task, or after
// the worker could not tell. People are asked what came of it.
func TestAttemptToRestartWhatAWorkerDoes(t *testing.T) {
	for _, settled := range []bool{false, true} {
		t.Run(fmt.Sprint("unknown on record=", settled), func(t *testing.T) {
			eachRemotePayer(t, func(k *desk, p remotePayer, grant, head posthouse.ID) {
				h := k.house
				c := k.claim()
				if c == nil {
					h.Fatal("no task")
				}
				if settled {
					if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Unknown, Reason: "the line broke"}); err != nil {
						h.Fatal(err)
					}
				}
				if _, err := h.ledger.RestartStep(h.Context(), head, nil); !errors.Is(err, posthouse.ErrConflict) {
					h.Fatalf("a step begins again while a worker is at its effect, or after one could not tell: %v", err)
				}
				if !settled { // its worker ends it
					k.paid(c)
					p.resume("t", "")
					h.grantIs(grant, grants.Executed)
					return
				}
				k.noTask("a step that began again")
				p.resume("t", "")
				k.noTask("a step that went on")
				h.grantIs(grant, grants.Unknown)
				q := h.only("t")
				if q.Kind != gate.KindOutcome {
					h.Fatalf("%+v", q)
				}
				h.decide(q.ID, posthouse.Redo, "alice") // it did not happen
				p.resume("t", "")
				if second := k.claim(); second == nil || second.Key != c.Key {
					h.Fatalf("second %+v", second)
				}
			})
		})
	}
}
