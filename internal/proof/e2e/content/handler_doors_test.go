package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/httptask"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/transfer"
	"github.com/posthouse/posthouse/worker"
)

// doors are the ways in which a worker reaches its engine.
var doors = map[string]func(k *desk) task.Engine{
	"http": func(k *desk) task.Engine {
		h := k.house
		list := must(tokens.Open(h.TempDir(), nil))(h)
		s := must(server.New(server.Options{Ledger: h.ledger, Tokens: list, Tasks: k.d}))(h)
		web := httptest.NewUnstartedServer(nil)
		web.Config = s.HTTPServer("")
		web.StartTLS()
		h.Cleanup(func() { _ = s.Close(context.Background()); web.Close() })
		return must(httptask.NewEngine(web.URL, must(list.Create("w2", tokens.Worker, nil))(h), web.Client()))(h)
	},
	"nats": func(k *desk) task.Engine {
		h := k.house
		n := must(natsserver.NewServer(&natsserver.Options{ServerName: "test", DontListen: true, NoSigs: true, NoLog: true}))(h)
		n.Start()
		if !n.ReadyForConnections(30 * time.Second) {
			h.Fatal("the server does not start")
		}
		h.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
		connect := func() *nats.Conn {
			c := must(nats.Connect("", nats.InProcessServer(n)))(h)
			h.Cleanup(c.Close)
			return c
		}
		h.Cleanup(must(natstask.Serve(connect(), k.d, nil))(h))
		return must(natstask.NewEngine(connect(), nil))(h)
	},
}

// TestHandlerActsThroughEveryDoor: a handler proposes and acts over HTTP and NATS as in process.
func TestHandlerActsThroughEveryDoor(t *testing.T) {
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			onDesks(t, func(k *desk, app *flow.App[int, string]) {
				h, bank := k.house, newBank()
				p := &handlerPay{question: payQuestion(), pay: bank.pay}
				defer k.serve("w2", door(k), p.handle)()
				must(app.Run(h.Context(), "t", 10))(h)
				h.handled("t")
				h.resumeHandled(app, "t", "")
				q := h.only("t")
				must(h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"To":"carol","Amount":7}`)}))(h)
				h.resumeHandled(app, "t", "")
				if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid 7 to carol" || bank.paid.Load() != 1 {
					h.Errorf("%+v after %d payments", res, bank.paid.Load())
				}
				h.grantIs(q.ID, grants.Executed)
				h.verified()
			})
		})
	}
}

// TestAttemptToPayAgainInAHandler: once a handler has paid, a fork, a fork to a thread, a copy and a
// replay propose it again, and each is paid under a decision of its own. A retry of the task is
// refused.
func TestAttemptToPayAgainInAHandler(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h, bank := k.house, newBank()
		p := &handlerPay{question: payQuestion(), pay: bank.pay}
		defer k.serve("w2", k.d, p.handle)()
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		h.handled("t")
		h.resumeHandled(app, "t", "")
		grant := h.only("t").ID
		h.decide(grant, posthouse.Approve, "alice")
		head := h.resumeHandled(app, "t", "").Checkpoint
		must(app.Resume(h.Context(), "t"))(h)
		keys := map[string]bool{<-bank.keys: true}
		for g, err := range h.ledger.Gates(h.Context(), ledger.GateQuery{Kind: posthouse.GateTask, Thread: "t", All: true}) {
			if err != nil {
				h.Fatal(err)
			}
			if again, err := ledger.RetryTask(h.Context(), h.ledger, g.ID, nil); !errors.Is(err, posthouse.ErrDecided) && !errors.Is(err, posthouse.ErrConflict) {
				h.Errorf("task %s is retried: %+v, %v", g.ID, again, err)
			}
		}

		branch := must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Branch: "other"}))(h)
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Thread: "away"}))(h)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		if _, err := app.Replay(h.Context(), head, flow.RunOptions{Branch: "replay"}); err != nil {
			h.Error(err)
		}
		places := []struct{ thread, branch string }{{"t", branch.Branch}, {"t", "replay"}, {"away", ""}, {"copy", branch.Branch}}
		asked := map[posthouse.ID]bool{}
		for range 6 { // each waits for its worker, its question and its worker again
			for _, at := range places {
				if _, err := app.Resume(h.Context(), at.thread, flow.RunOptions{Branch: at.branch}); err != nil && !errors.Is(err, posthouse.ErrNotFound) {
					h.Errorf("%v: %v", at, err)
				}
				h.handled(at.thread)
			}
			paid := bank.paid.Load()
			for _, at := range places {
				for _, q := range h.inbox(at.thread) {
					if asked[q.ID] {
						continue
					}
					asked[q.ID] = true
					if q.RequestedBy != "bob" {
						h.Errorf("%v asks for %q", at, q.RequestedBy)
					}
					h.decide(q.ID, posthouse.Approve, "alice")
				}
			}
			if paid > int64(1+len(asked)) {
				h.Fatalf("%d payments on %d decisions", paid, 1+len(asked))
			}
		}
		if n := bank.paid.Load(); int(n) > 1+len(asked) || len(asked) < 3 {
			h.Errorf("%d payments, %d questions", n, len(asked))
		}
		for range bank.paid.Load() - 1 {
			key := <-bank.keys
			if keys[key] {
				h.Errorf("key %s twice", key)
			}
			keys[key] = true
		}
		h.grantIs(grant, grants.Executed)
		h.verified()
	})
}

// TestHandlerIsRefused: a rejection fails the handler, and nothing runs.
func TestHandlerIsRefused(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h, bank := k.house, newBank()
		p := &handlerPay{question: payQuestion(), pay: bank.pay}
		refused := make(chan error, 10)
		defer k.serve("w2", k.d, func(t worker.Task, amount int) (string, error) {
			out, err := p.handle(t, amount)
			if errors.Is(err, posthouse.ErrForbidden) {
				refused <- err
				return "refused", nil
			}
			return out, err
		})()
		must(app.Run(h.Context(), "t", 10))(h)
		h.handled("t")
		h.resumeHandled(app, "t", "")
		h.decide(h.only("t").ID, posthouse.Reject, "alice")
		h.resumeHandled(app, "t", "")
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "refused" || bank.paid.Load() != 0 {
			h.Errorf("%+v after %d payments", res, bank.paid.Load())
		}
		var e *posthouse.Error
		if err := <-refused; !errors.As(err, &e) || e.Decision == nil || e.Decision.By != "alice" {
			h.Errorf("%v", err)
		}
	})
}

// TestHandlersCheck: Check runs in the handler before each beginning. Where it refuses, people are
// asked again with its reason, and the effect runs under their decision.
func TestHandlersCheck(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h, bank := k.house, newBank()
		p := &handlerPay{question: payQuestion(), pay: bank.pay}
		var first posthouse.ID
		p.opt.Check = func(_ context.Context, g *posthouse.Gate) error {
			if g.Supersedes == "" {
				return errors.New("the price moved")
			}
			return nil
		}
		defer k.serve("w2", k.d, p.handle)()
		must(app.Run(h.Context(), "t", 10))(h)
		h.handled("t")
		h.resumeHandled(app, "t", "")
		first = h.only("t").ID
		h.decide(first, posthouse.Approve, "alice")
		h.resumeHandled(app, "t", "") // the handler asks again
		h.resumeHandled(app, "t", "")
		q := h.only("t")
		if q.Supersedes != first || q.Note != "asked again: the price moved" || bank.paid.Load() != 0 {
			h.Fatalf("%+v", q)
		}
		h.decide(q.ID, posthouse.Approve, "alice")
		h.resumeHandled(app, "t", "")
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid 10 to bob" || bank.paid.Load() != 1 {
			h.Errorf("%+v after %d payments", res, bank.paid.Load())
		}
		h.grantIs(q.ID, grants.Executed)
		h.verified()
	})
}

// TestHandlersReconcile: an error that leaves the outcome open is settled by Reconcile in the next
// attempt, and no person is asked.
func TestHandlersReconcile(t *testing.T) {
	for _, done := range []bool{true, false} {
		onDesks(t, func(k *desk, app *flow.App[int, string]) {
			h, bank := k.house, newBank()
			p := &handlerPay{question: payQuestion()}
			p.pay = func(ctx context.Context, t bankTransfer) (string, error) {
				out, _ := bank.pay(ctx, t)
				if bank.paid.Load() == 1 {
					return "", posthouse.ErrUnknown
				}
				return out, nil
			}
			p.opt.Reconcile = func(context.Context, bankTransfer) (string, bool, error) { return "found out", done, nil }
			failed := make(chan error, 10)
			defer k.serve("w2", k.d, func(t worker.Task, amount int) (string, error) {
				out, err := p.handle(t, amount)
				if bank.paid.Load() == 1 {
					failed <- err
				}
				return out, err
			})()
			must(app.Run(h.Context(), "t", 10))(h)
			h.handled("t")
			h.resumeHandled(app, "t", "")
			grant := h.only("t").ID
			h.decide(grant, posthouse.Approve, "alice")
			must(app.Resume(h.Context(), "t"))(h)
			<-failed
			h.handled("t")
			want, paid := "found out", int64(1)
			if !done { // it may still be under way: people are asked
				want, paid = "paid 10 to bob", 2
				must(app.Resume(h.Context(), "t"))(h)
				q := h.only("t")
				if q.Kind != gate.KindOutcome {
					h.Fatalf("%+v", q)
				}
				h.decide(q.ID, posthouse.Redo, "alice")
				must(app.Resume(h.Context(), "t"))(h)
				h.handled("t")
			}
			if res := must(app.Resume(h.Context(), "t"))(h); res.Output != want || bank.paid.Load() != paid {
				h.Errorf("done=%t: %+v after %d payments", done, res, bank.paid.Load())
			}
			h.grantIs(grant, grants.Executed)
			h.verified()
		})
	}
}

// TestHandlersEditForOthers: an edit is judged by the people of what it becomes, also in a handler.
func TestHandlersEditForOthers(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h, bank := k.house, newBank()
		question := func(t bankTransfer) gate.Question {
			q := payQuestion()
			q.Assignees = []string{"clerk", "chief"}
			if t.Amount > 100 {
				q.Text, q.Assignees = "Pay this much?", []string{"chief", "manager"}
			}
			return q
		}
		defer k.serve("w2", k.d, func(t worker.Task, amount int) (string, error) {
			grant, err := gate.ProposeFor(t.Context(), bankTransfer{"bob", amount}, question)
			if err != nil {
				return "", err
			}
			return gate.Act(t.Context(), "pay", grant, bank.pay)
		})()
		for by, asks := range map[string]bool{"clerk": true, "chief": false} {
			must(app.Run(h.Context(), by, 10))(h)
			h.handled(by)
			h.resumeHandled(app, by, "")
			q := h.only(by)
			value, _ := json.Marshal(bankTransfer{"bob", 5000})
			must(h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Edit, By: by, Value: value}))(h)
			before := bank.paid.Load()
			h.resumeHandled(app, by, "") // the handler proposes what it was edited to
			h.resumeHandled(app, by, "")
			if asks {
				again := h.only(by)
				if bank.paid.Load() != before || again.Text != "Pay this much?" || again.Note == "" {
					h.Fatalf("%+v after %d payments", again, bank.paid.Load())
				}
				if _, err := h.ledger.Decide(h.Context(), again.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "clerk"}); !errors.Is(err, posthouse.ErrForbidden) {
					h.Errorf("the clerk approves it: %v", err)
				}
				h.decide(again.ID, posthouse.Approve, "manager")
				h.resumeHandled(app, by, "")
			}
			if res := must(app.Resume(h.Context(), by))(h); res.Output != "paid 5000 to bob" || bank.paid.Load() != before+1 {
				h.Errorf("edited by %s: %+v after %d payments", by, res, bank.paid.Load())
			}
		}
		h.verified()
	})
}
