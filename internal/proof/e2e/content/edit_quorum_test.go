package content_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
)

// An edit to what needs a quorum is one person's word: the quorum is asked, of the people of what
// it was edited to.
func TestAnEditIsJudgedByItsQuorum(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		app := h.limited(&paid, func(q *gate.Question, n int) {
			if n > 100 {
				q.Quorum = &posthouse.Quorum{Need: 2}
			}
		}, nil)
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		h.edit(h.only("t").ID, "boss", 5000)
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		h.refuse(g, "clerk", "bob")
		g = h.decide(g.ID, posthouse.Approve, "boss")
		if g.Decision != nil {
			h.Fatal("one of two decides", g.Decision)
		}
		must(app.Resume(h.Context(), "t"))(h)
		if len(paid) > 0 {
			h.Fatal(paid)
		}
		h.decide(g.ID, posthouse.Approve, "chief")
		must(app.Resume(h.Context(), "t"))(h)
		if !slices.Equal(paid, []int{5000}) {
			h.Fatal(paid)
		}
	})
}

// A right in the question about the edited content is handed on there, and counts there.
func TestADelegateOfTheEditedQuestionJudgesIt(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		app := h.limited(&paid, nil, nil)
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		must(h.ledger.Delegate(h.Context(), h.only("t").ID, posthouse.Delegation{By: "boss", To: "intern"}))(h)
		h.edit(h.only("t").ID, "clerk", 5000)
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		must(h.ledger.Delegate(h.Context(), g.ID, posthouse.Delegation{By: "chief", To: "dora"}))(h)
		h.refuse(g, "intern", "clerk", "chief")
		h.decide(g.ID, posthouse.Approve, "dora")
		must(app.Resume(h.Context(), "t"))(h)
		if !slices.Equal(paid, []int{5000}) {
			h.Fatal(paid)
		}
	})
}

// The question about edited content escalates from when the first question was asked, also if it
// was asked after that.
func TestTheEditedQuestionEscalatesFromTheFirst(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		app := h.limited(&paid, func(q *gate.Question, n int) {
			if n > 100 {
				q.Escalate = &gate.Escalation{After: time.Hour, To: []string{"deputy"}}
			}
		}, nil)
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		h.now = h.now.Add(40 * time.Minute)
		h.edit(h.only("t").ID, "clerk", 5000)
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		h.refuse(g, "deputy", "clerk")
		h.now = h.now.Add(21 * time.Minute)
		h.refuse(g, "clerk")
		h.decide(g.ID, posthouse.Approve, "deputy")
		must(app.Resume(h.Context(), "t"))(h)
		if !slices.Equal(paid, []int{5000}) {
			h.Fatal(paid)
		}
	})
}

// The question about the outcome of an edited effect goes to the people of the edited
// content, if neither the function nor its worker can tell.
func TestTheOutcomeOfAnEditIsAskedOfItsPeople(t *testing.T) {
	for _, remote := range []bool{false, true} {
		for _, editor := range []string{"boss", "clerk"} {
			onStores(t, func(h *house) {
				app := must(flow.New("limited", func(ctx context.Context, n int) (string, error) {
					grant, err := gate.ProposeFor(ctx, bankTransfer{"shop", n}, func(b bankTransfer) gate.Question {
						q := gate.Question{Name: "pay", Text: "Pay?", Assignees: []string{"clerk", "boss"}}
						if b.Amount > 100 {
							q.Assignees = []string{"boss", "chief"}
						}
						return q
					})
					if err != nil {
						return "", err
					}
					return gate.Act(ctx, "transfer", grant, func(ctx context.Context, b bankTransfer) (string, error) {
						if remote {
							return step.Remote[string](ctx, "pay", "pay", b)
						}
						return "", errLost
					})
				}).Open(h.ledger, nil))(h)
				must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
				h.edit(h.only("t").ID, editor, 5000)
				_, err := app.Resume(h.Context(), "t")
				if editor == "clerk" {
					h.decide(h.only("t").ID, posthouse.Approve, "chief")
					_, err = app.Resume(h.Context(), "t")
				}
				if remote {
					if err != nil {
						h.Fatal(err)
					}
					k := h.desk()
					defer k.stop()
					c := k.wants(app)
					if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Unknown, Reason: "the line broke"}); err != nil {
						h.Fatal(err)
					}
					_, err = app.Resume(h.Context(), "t")
				}
				if err != nil && !errors.Is(err, posthouse.ErrUnknown) {
					h.Fatal(err)
				}
				if len(h.inbox("t")) == 0 {
					must(app.Resume(h.Context(), "t"))(h)
				}
				g := h.only("t")
				if g.Kind != gate.KindOutcome {
					h.Fatalf("%+v", g)
				}
				h.refuse(g, "clerk", "bob")
				must(h.ledger.Decide(h.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Happened, By: "chief", Value: []byte(`"paid"`)}))(h)
				if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
					h.Errorf("result %+v", res)
				}
			})
		}
	}
}
