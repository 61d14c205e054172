package content_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

// paysAndRests is a graph with a node that proposes, pays and asks for more.
func paysAndRests(h *house, b *bank) *graph.App[deal] {
	h.Helper()
	g := graph.New[deal]("pays-and-rests")
	g.Node("pay", func(ctx context.Context, s *deal) error {
		grant, err := propose(ctx, "pay", bankTransfer{"bob", s.Amount})
		if err != nil {
			return err
		}
		s.Receipt, err = gate.Act(ctx, "pay", grant, b.pay)
		if err != nil {
			return err
		}
		_, err = gate.Ask[any](ctx, gate.Question{Name: "more?", Bind: posthouse.ByName})
		return err
	})
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	return must(g.Compile(h.ledger, nil))(h)
}

// The receipt of an approved content does not count for a content approved later
// under the same name: in a fork that inherits it, after an update, and in a
// restarted step.
func TestAttemptToPassAReceiptOn(t *testing.T) {
	change := func(s *deal) { s.Amount = 99 }
	onStores(t, func(h *house) {
		head := func(thread string) posthouse.ID {
			return must(h.ledger.Thread(h.Context(), thread))(h).Branches[0].Head
		}
		for name, way := range map[string]func(app *graph.App[deal], thread string) (branch string){
			"fork": func(app *graph.App[deal], thread string) string {
				return must(app.Fork(h.Context(), head(thread), change))(h).Header.Branch
			},
			"update": func(app *graph.App[deal], thread string) string {
				must(app.Update(h.Context(), thread, change))(h)
				return ""
			},
			"anew": func(app *graph.App[deal], thread string) string {
				must(app.Update(h.Context(), thread, change))(h)
				must(h.ledger.RestartStep(h.Context(), head(thread), nil))(h)
				return ""
			},
		} {
			b := &bank{}
			app := paysAndRests(h, b)
			must(app.Run(h.Context(), name, deal{Amount: 10}))(h)
			h.decide(h.only(name).ID, posthouse.Approve, "alice")
			must(app.Resume(h.Context(), name))(h)
			b.want(h, bankTransfer{"bob", 10})
			on := graph.RunOptions{Branch: way(app, name)}
			r := must(app.Resume(h.Context(), name, on))(h)
			if len(r.Waiting) != 1 || r.Waiting[0].Name != "pay" {
				h.Fatalf("%s asks %+v", name, r.Waiting)
			}
			h.decide(r.Waiting[0].ID, posthouse.Approve, "alice")
			_, err := app.Resume(h.Context(), name, on)
			if b.want(h, bankTransfer{"bob", 10}); !errors.Is(err, posthouse.ErrConflict) {
				h.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A copy of a thread carries its approvals to be read.
func TestAttemptToCopyAGrant(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{fail: errLost}
		app := dealing(h, b, dealOptions{})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "before", nil))(h)
		must(app.Resume(h.Context(), "t"))(h)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "behind", nil))(h)
		for _, thread := range []string{"before", "behind"} {
			for range 2 {
				_, _ = app.Resume(h.Context(), thread)
			}
			if b.want(h, bankTransfer{"bob", 10}); len(h.inbox(thread)) != 1 {
				h.Errorf("%s asks %d questions", thread, len(h.inbox(thread)))
			}
		}
	})
}

// A head with an attempt of unknown outcome is not deleted: people are asked about it.
func TestAttemptToDeleteAnUnknownOutcome(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := proposesAndPays(h, b, gate.ActOptions[bankTransfer, string]{}, 0)
		lost(h, "t", b, app)
		_, err := retain.Delete(h.Context(), h.ledger, must(h.ledger.Thread(h.Context(), "t"))(h).Branches[0].Head, nil)
		h.refusedFor(h.only("t"), err)
		b.fail = nil
		for range 2 {
			must(app.Resume(h.Context(), "t"))(h)
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}

// A goroutine of a program does not act once the program has returned.
func TestAttemptToActAfterTheProgramReturned(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		returned, left := make(chan struct{}), sync.WaitGroup{}
		var acted error
		app := flowOf(h, func(ctx context.Context) (string, error) {
			grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
			if err != nil {
				return "", err
			}
			checking := make(chan struct{})
			left.Go(func() {
				_, acted = gate.Act(context.WithoutCancel(ctx), "pay", grant, b.pay, gate.ActOptions[bankTransfer, string]{
					Check: func(context.Context, *posthouse.Gate) error { close(checking); <-returned; return nil },
				})
			})
			<-checking
			return "", errors.New("gone")
		})
		must(app.Run(h.Context(), "t", 0))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		_, _ = app.Resume(h.Context(), "t")
		close(returned)
		left.Wait()
		if b.want(h); acted == nil {
			h.Fatal("it acted")
		}
	})
}

// A gate that somebody opens by hand does not pass for a program's question if it
// leaves out the assignees.
func TestAttemptToAskInAProgramsName(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{question: func(bankTransfer) gate.Question {
			return gate.Question{Name: "pay", Text: "Pay?", Assignees: []string{"boss"}}
		}})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		asked := h.only("t")
		for _, amount := range []string{"10", "99"} {
			forged := *asked
			forged.ID, forged.Assignees, forged.Payload = "", nil, []byte(`{"To":"bob","Amount":`+amount+`}`)
			f, err := h.ledger.Fork(h.Context(), asked.Checkpoint, &ledger.ForkOptions{
				Gates: []posthouse.Gate{forged}, Patch: posthouse.State{"Amount": {Codec: "json", Data: []byte(amount)}},
			})
			if err == nil {
				for _, id := range f.Gates {
					_, _ = h.ledger.Decide(h.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "eve"})
				}
				_, err = app.Resume(h.Context(), "t", graph.RunOptions{Branch: f.Branch})
			}
			if b.want(h); !errors.Is(err, posthouse.ErrInvalid) {
				h.Errorf("amount %v, error %v", amount, err)
			}
		}
	})
}
