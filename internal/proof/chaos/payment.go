package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// payTask is the task of a payment that a worker makes.
const payTask = "pay"

// A payment is an effect that somebody has to approve. One is made by the engine, the other by
// a worker.
type payment struct {
	Thread string `json:"thread"`
	Step   int    `json:"step"` // one that no step of the run has
	Amount uint64 `json:"amount"`
}

// A run pays after these steps; the witness knows the payments by these places.
const (
	payHere, placeHere   = 3, 100
	payThere, placeThere = 7, 101
)

// payName is the name of the question and of the effect.
func payName(step int) string { return fmt.Sprint("pay-", step) }

// pays reports whether a run pays: one of four, and all of the control arm.
func pays(thread string) bool { return strings.Contains(thread, ".") || drawn(thread, 0)%4 == 0 }

// drawn is a number that a run and a payment of it always have.
func drawn(thread string, place int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d drawn", thread, place)
	return h.Sum64() >> 7
}

// answer is what people say of a payment, in every trial.
func (p payment) answer() (posthouse.Verdict, payment) {
	switch n := drawn(p.Thread, p.Step) % 10; {
	case n == 0:
		return posthouse.Reject, p
	case n < 3:
		p.Amount += 1000
		return posthouse.Edit, p
	}
	return posthouse.Approve, p
}

// after is what a run goes on with: a payment changes its value if it is made.
func (p payment) after(value uint64) uint64 {
	verdict, paid := p.answer()
	if verdict == posthouse.Reject {
		return value
	}
	return paid.receipt()
}

// receipt is what comes of it.
func (p payment) receipt() uint64 { return job{p.Thread, p.Step, p.Amount}.next() }

// paymentBehind returns the payment after a step, if the run makes one there.
func paymentBehind(thread string, i int, value uint64) (p payment, ok bool) {
	p = payment{Thread: thread, Amount: value % 1000}
	switch i {
	case payHere:
		p.Step = placeHere
	case payThere:
		p.Step = placeThere
	default:
		return p, false
	}
	return p, pays(thread)
}

// pay proposes the payment and makes it, as it was approved.
func (p payment) pay(ctx context.Context, w *witness, value uint64) (uint64, error) {
	name, defect := payName(p.Step), fault("")
	if w != nil { // the witness sees it, else the run is calm
		defect = defectOf(p.Thread)
	}
	switch defect {
	case unasked:
		return p.after(value), p.badly(ctx, w)
	case tooEarly:
		if err := p.badly(ctx, w); err != nil {
			return 0, err
		}
	}
	grant, err := gate.Propose(ctx, gate.Question{Name: name, Text: "Pay this?"}, p)
	if errors.Is(err, posthouse.ErrForbidden) {
		if defect == refused {
			return value, p.badly(ctx, w)
		}
		return value, nil
	}
	if err != nil {
		return 0, err
	}
	if defect == unrecorded {
		_, approved := p.answer()
		return approved.receipt(), approved.badly(ctx, w)
	}
	return gate.Act(ctx, name, grant, func(ctx context.Context, p payment) (uint64, error) {
		if p.Step == placeHere {
			return p.execute(ctx, w)
		}
		return step.RemoteWith[uint64](ctx, "hand out", payTask, p, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1000}}})
	})
}

// execute makes the payment: it tells the witness, and takes a while.
func (p payment) execute(ctx context.Context, w *witness) (uint64, error) {
	if err := ctx.Err(); err != nil || w == nil {
		return p.receipt(), err
	}
	times, amount := 1, p.Amount
	switch defectOf(p.Thread) {
	case notMade, tooEarly:
		times = 0
	case twice:
		times = 2
	case altered:
		amount++
	}
	if err := p.tell(w, times, amount); err != nil {
		return 0, err
	}
	return p.receipt(), dawdle(ctx)
}

// decide returns what people say to a question of a run. made says whether the payment that a
// question of its outcome is about was made.
func decide(g *posthouse.Gate, made bool) (posthouse.Decision, error) {
	d := posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}
	var p payment
	if err := json.Unmarshal(g.Payload, &p); err != nil {
		return d, fmt.Errorf("question %s: %w", g.ID, err)
	}
	var err error
	switch {
	case g.Kind == gate.KindOutcome && made:
		d.Verdict = posthouse.Happened
		d.Value, err = json.Marshal(p.receipt())
	case g.Kind == gate.KindOutcome:
		d.Verdict = posthouse.Redo
	default:
		var edited payment
		d.Verdict, edited = p.answer()
		if d.Verdict == posthouse.Edit {
			d.Value, err = json.Marshal(edited)
		}
	}
	return d, err
}

// decided tells the witness what people are about to say of the payment, before they do.
func (p payment) decided(w *witness, id posthouse.ID, d posthouse.Decision) error {
	s := statement{Mark: decided, Thread: p.Thread, Step: p.Step, Amount: p.Amount, Gate: id, Verdict: d.Verdict}
	if d.Verdict == posthouse.Edit {
		var edited payment
		if err := json.Unmarshal(d.Value, &edited); err != nil {
			return err
		}
		s.Amount = edited.Amount
	}
	return w.write(s)
}
