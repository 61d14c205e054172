package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
)

// limited proposes a payment: above 100 it is the managers'.
func (h *house) limited(paid *[]int, change func(*gate.Question, int), check func() error) *flow.App[int, string] {
	return must(flow.New("limited", func(ctx context.Context, n int) (string, error) {
		grant, err := gate.ProposeFor(ctx, bankTransfer{"shop", n}, func(b bankTransfer) gate.Question {
			q := gate.Question{Name: "pay", Text: "Pay?", Assignees: []string{"clerk", "boss"}}
			if b.Amount > 100 {
				q.Assignees = []string{"boss", "chief"}
			}
			if change != nil {
				change(&q, b.Amount)
			}
			return q
		})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "transfer", grant, func(_ context.Context, b bankTransfer) (string, error) {
			*paid = append(*paid, b.Amount)
			return "paid", nil
		}, gate.ActOptions[bankTransfer, string]{Check: func(context.Context, *posthouse.Gate) error {
			if check != nil {
				return check()
			}
			return nil
		}})
	}).Open(h.ledger, nil))(h)
}

func (h *house) edit(id posthouse.ID, by string, amount int) {
	h.Helper()
	value, _ := json.Marshal(bankTransfer{"shop", amount})
	must(h.ledger.Decide(h.Context(), id, posthouse.Decision{Verdict: posthouse.Edit, By: by, Value: value}))(h)
}

// An edit is judged by the people of what it becomes: a clerk's edit beyond the clerk's limit
// is asked of the managers.
func TestAnEditIsJudgedByItsPeople(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		app := h.limited(&paid, nil, nil)
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		h.edit(h.only("t").ID, "clerk", 5000)
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		if len(paid) > 0 || !slices.Equal(g.Assignees, []string{"boss", "chief"}) {
			h.Fatalf("paid %v, g.Assignees %v", paid, g.Assignees)
		}
		h.refuse(g, "clerk")
		h.decide(g.ID, posthouse.Approve, "chief")
		must(app.Resume(h.Context(), "t"))(h)
		if !slices.Equal(paid, []int{5000}) {
			h.Fatal(paid)
		}
	})
}

// A right that was handed on for the first question does not cover the edited content.
func TestADelegateOfTheFirstQuestionDoesNotJudgeTheEdit(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		app := h.limited(&paid, nil, nil)
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		must(h.ledger.Delegate(h.Context(), h.only("t").ID, posthouse.Delegation{By: "boss", To: "intern"}))(h)
		h.edit(h.only("t").ID, "intern", 5000)
		must(app.Resume(h.Context(), "t"))(h)
		h.refuse(h.only("t"), "intern")
	})
}

// Who comes in by escalation does so from when the first question was asked.
func TestAnEditEscalatesFromTheFirstQuestion(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		app := h.limited(&paid, func(q *gate.Question, n int) {
			if n > 100 {
				q.Escalate = &gate.Escalation{After: time.Hour, To: []string{"clerk"}}
			}
		}, nil)
		for thread, after := range map[string]time.Duration{"soon": 30 * time.Minute, "late": 2 * time.Hour} {
			must(app.Run(h.Context(), thread, 10, flow.RunOptions{By: "bob"}))(h)
			h.now = h.now.Add(after)
			h.edit(h.only(thread).ID, "clerk", 5000)
			res := must(app.Resume(h.Context(), thread))(h)
			if done := res.Status == posthouse.StatusDone; done != (thread == "late") {
				h.Fatalf("thread %v, res.Status %v", thread, res.Status)
			}
		}
	})
}

// If the action asks again about a manager's edit, it asks the managers.
func TestAnActionAsksThePeopleOfTheEditAgain(t *testing.T) {
	onStores(t, func(h *house) {
		var paid []int
		var moved error
		app := h.limited(&paid, nil, func() error { return moved })
		must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
		h.edit(h.only("t").ID, "boss", 5000)
		moved = posthouse.Invalid("price", "has moved")
		must(app.Resume(h.Context(), "t"))(h)
		moved = nil
		g := h.only("t")
		h.refuse(g, "clerk")
		h.decide(g.ID, posthouse.Approve, "chief")
		must(app.Resume(h.Context(), "t"))(h)
		if !slices.Equal(paid, []int{5000}) {
			h.Fatal(paid)
		}
	})
}

// TestAnEditThatIsAskedAgainEscalates: where the action asks again what somebody made of a
// question, or what became of it, others come in as long after the first question as its rule says.
// A content approved as it is has its rule's time from then on.
func TestAnEditThatIsAskedAgainEscalates(t *testing.T) {
	for _, verdict := range []posthouse.Verdict{posthouse.Approve, posthouse.Edit} {
		for _, settled := range []bool{false, true} { // the edit's question has another text
			for _, lost := range []bool{false, true} { // the action asks what became of the effect
				t.Run(fmt.Sprintf("%s/settled %t/lost %t", verdict, settled, lost), func(t *testing.T) {
					onStores(t, func(h *house) { h.askedAgain(verdict, settled, lost) })
				})
			}
		}
	}
}

func (h *house) askedAgain(verdict posthouse.Verdict, settled, lost bool) {
	var moved error
	app := must(flow.New("again", func(ctx context.Context, n int) (string, error) {
		grant, err := gate.ProposeFor(ctx, bankTransfer{"shop", n}, func(b bankTransfer) gate.Question {
			q := gate.Question{Name: "pay", Text: "Pay?", Assignees: []string{"boss"}, Escalate: &gate.Escalation{After: time.Hour, To: []string{"clerk"}}}
			if settled && b.Amount > 100 {
				q.Text = "Pay that much?"
			}
			return q
		})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "transfer", grant, func(context.Context, bankTransfer) (string, error) {
			return "paid", posthouse.ErrUnknown
		}, gate.ActOptions[bankTransfer, string]{Check: func(context.Context, *posthouse.Gate) error { return moved }})
	}).Open(h.ledger, nil))(h)
	first := h.now
	must(app.Run(h.Context(), "t", 10))(h)
	h.now = h.now.Add(20 * time.Minute)
	if !lost {
		moved = posthouse.Invalid("price", "has moved")
	}
	if id := h.only("t").ID; verdict == posthouse.Edit {
		h.edit(id, "boss", 5000)
	} else {
		h.decide(id, verdict, "boss")
	}
	for range 2 {
		_, err := app.Resume(h.Context(), "t")
		if err != nil && !errors.Is(err, posthouse.ErrUnknown) {
			h.Fatal(err)
		}
		if lost {
			must(app.Resume(h.Context(), "t"))(h)
		}
		g, want := h.only("t"), h.now.Add(time.Hour)
		if verdict == posthouse.Edit {
			want = first.Add(time.Hour)
		}
		if g.Escalation == nil || !g.Escalation.At.Equal(want) {
			h.Fatalf("the %s question at %s escalates by %+v, want at %s", g.Kind, h.now, g.Escalation, want)
		}
		if lost {
			return
		}
		h.decide(g.ID, posthouse.Approve, "boss")
		h.now = h.now.Add(20 * time.Minute)
	}
}
