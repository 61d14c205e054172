package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/step"
)

// An edit is not judged again once its effect has begun, whatever has changed since: no question
// is asked about money that is gone.
func TestAnEditThatRanIsNotJudgedAgain(t *testing.T) {
	for _, lapse := range []bool{true, false} {
		for _, remote := range []bool{false, true} {
			onStores(t, func(h *house) {
				paid := 0
				app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
					grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, bankTransfer{"bob", amount})
					if err != nil {
						return "", err
					}
					r, err := gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
						if remote {
							return step.Remote[string](ctx, "pay", "pay", t)
						}
						paid++
						return "paid", nil
					})
					if err != nil {
						return "", err
					}
					return r, step.Sleep(ctx, "rest", 3*time.Hour)
				}).Open(h.ledger, nil))(h)
				must(app.Run(h.Context(), "t", 10))(h)
				grant := h.only("t").ID
				h.edit(grant, "alice", 5000)
				must(app.Resume(h.Context(), "t"))(h)
				k := h.desk()
				defer k.stop()
				if remote {
					c := k.claim()
					k.paid(c)
					paid++
				}
				h.now = h.now.Add(2 * time.Hour)
				if !lapse {
					h.now = h.now.Add(-2 * time.Hour)
					h.policy = func(*posthouse.Gate, *posthouse.Decision) error { return errors.New("alice left") }
				}
				must(app.Resume(h.Context(), "t"))(h)
				for _, q := range h.inbox("t") {
					if q.AsksPeople() {
						h.Errorf("people are asked again: %+v", q)
					}
				}
				h.now = h.now.Add(4 * time.Hour)
				if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" || paid != 1 {
					h.Errorf("%+v, paid %d times", res, paid)
				}
				h.grantIs(grant, grants.Executed)
			})
		}
	}
}

// An edit licenses as many effects as its question says, also where a deploy changes which gate
// its decision counts for.
func TestAnEditLicensesOneEffectAcrossDeploys(t *testing.T) {
	for name, big := range map[string]func(q *gate.Question){
		"settled":     func(q *gate.Question) { q.Text = "Pay that much?" },
		"asked again": func(q *gate.Question) { q.Assignees = []string{"boss"} },
	} {
		for _, before := range []bool{true, false} { // the rule of large amounts is there first, or comes with the deploy
			t.Run(name, func(t *testing.T) {
				onStores(t, func(h *house) {
					paid := 0
					open := func(rule bool) *flow.App[int, string] {
						return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
							grant, err := gate.ProposeFor(ctx, bankTransfer{"bob", amount}, func(t bankTransfer) gate.Question {
								q := gate.Question{Name: "pay", Text: "Pay?"}
								if t.Amount > 100 && rule {
									big(&q)
								}
								return q
							})
							if err != nil {
								return "", err
							}
							pay := func(context.Context, bankTransfer) (string, error) { paid++; return "paid", nil }
							if _, err := gate.Act(ctx, "pay", grant, pay); err != nil {
								return "", err
							}
							if _, err := step.Signal[int](ctx, "more", step.SignalOptions{}); err != nil {
								return "", err
							}
							return gate.Act(ctx, "pay more", grant, pay)
						}).Open(h.ledger, nil))(h)
					}
					app := open(before)
					must(app.Run(h.Context(), "t", 10))(h)
					grant := h.only("t").ID
					h.edit(grant, "alice", 5000)
					must(app.Resume(h.Context(), "t"))(h)
					decisions := 1
					answer := func() {
						for _, q := range h.inbox("t") {
							if q.AsksPeople() {
								h.decide(q.ID, posthouse.Approve, "boss")
								decisions++
								_, _ = app.Resume(h.Context(), "t")
							}
						}
					}
					answer()
					if paid != 1 {
						h.Fatalf("paid %d times", paid)
					}
					h.restart()
					app = open(!before)
					must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "more", Value: []byte("1"), By: "carl"}))(h)
					_, err := app.Resume(h.Context(), "t")
					answer()
					if paid > decisions || decisions == 1 && !errors.Is(err, posthouse.ErrForbidden) {
						h.Errorf("paid %d times on %d decisions: %v", paid, decisions, err)
					}
				})
			})
		}
	}
}

// The outcome of an edit is shown with the edited gate, and no effect may run under that gate any
// more.
func TestAnEditedGateShowsWhatRan(t *testing.T) {
	onStores(t, func(h *house) {
		var proposed []gate.Grant
		var edited posthouse.ID
		app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
			grant, err := gate.ProposeFor(ctx, bankTransfer{"bob", amount}, func(t bankTransfer) gate.Question {
				q := gate.Question{Name: "pay", Text: "Pay?"}
				if t.Amount > 100 {
					q.Text = "Pay that much?"
				}
				return q
			})
			if err != nil {
				return "", err
			}
			proposed = append(proposed, grant)
			pay := func(context.Context, bankTransfer) (string, error) { return "paid", nil }
			if _, err := gate.Act(ctx, "keep", gate.Grant(edited), pay); !errors.Is(err, posthouse.ErrForbidden) {
				return "", errors.Join(errors.New("the edited gate licenses an effect"), err)
			}
			return gate.Act(ctx, "pay", grant, pay)
		}).Open(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", 10))(h)
		edited = h.only("t").ID
		h.edit(edited, "alice", 5000)
		res := must(app.Resume(h.Context(), "t"))(h)
		if res.Output != "paid" || posthouse.ID(proposed[0]) == edited {
			h.Fatalf("%+v under %v", res, proposed)
		}
		if g := h.grantIs(edited, grants.Executed); g.Approval.Kept() || len(g.Uses) != 1 || g.Uses[0].Grant != posthouse.ID(proposed[0]) {
			h.Errorf("%+v", g)
		}
		info := must(h.ledger.Thread(h.Context(), "t"))(h)
		for _, a := range must(h.ledger.Core().Logs.Decided(h.Context(), info))(h) {
			if a.Gate.ID == edited && a.Approval(info, h.now).Kept() {
				h.Error("retention keeps the edited gate for ever")
			}
		}
	})
}
