package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Refund is the state of a request to the coordinator refund, and what people approve.
type Refund struct {
	Order  string      `json:"order" doc:"Order"`
	Amount json.Number `json:"amount" doc:"Amount in EUR"`
	Reason string      `json:"reason" doc:"Reason"`
}

// A cashing is what the cashier is asked: a refund, under a decision.
type cashing struct {
	Refund
	Grant gate.Grant `json:"grant"`
}

func openRefund(l *ledger.Ledger, w *World) (*coord.Coordinator, error) {
	fleet, err := coord.NewFleet(
		coord.Agent{Name: "analyst", Description: "Reads what a customer wrote", Skills: map[string]coord.Skill{
			"analyze": func(ctx context.Context, call coord.Call) (coord.Result, error) {
				var r Refund
				if err := call.Bind(&r); err != nil {
					return coord.Result{}, err
				}
				text, err := w.ask(ctx, "analyze", prompt{
					model: "large-2", takes: 2600 * time.Millisecond, cost: "0.0121 USD", input: r.Reason,
					answer: fmt.Sprintf("Order %s: the customer says: %s. %s EUR were paid.", r.Order, r.Reason, r.Amount),
				})
				if err != nil {
					return coord.Result{}, err
				}
				return coord.NewResult(text, r)
			},
		}},
		coord.Agent{Name: "cashier", Description: "Pays refunds that were approved", Skills: map[string]coord.Skill{
			"pay": func(ctx context.Context, call coord.Call) (coord.Result, error) {
				var c cashing
				if err := call.Bind(&c); err != nil {
					return coord.Result{}, err
				}
				r, err := act[Refund](ctx, w, "refund", c.Grant)
				if err != nil {
					return coord.Result{}, err
				}
				return coord.NewResult("Refunded, receipt "+r.Number, c.Refund)
			},
		}},
	)
	if err != nil {
		return nil, err
	}
	journal, err := coord.Checkpointing(coord.Discard{}, l, coord.OnAgentBoundaries, refundState)
	if err != nil {
		return nil, err
	}
	return coord.New(l, "refund", fleet, refund, &coord.Options{
		Description: "Refunds: an analyst, a person's decision, a cashier", Journal: journal,
		Questions: []runs.Question{{Name: "refund", Text: "Refund the order?", Payload: Refund{}}},
	})
}

// refund handles a request, a [Refund] as JSON.
func refund(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
	var todo Refund
	if err := json.Unmarshal([]byte(message), &todo); err != nil {
		return posthouse.Invalid("request", `is no refund, as {"order":"8801","amount":19.90,"reason":"broken"}`)
	}
	analysis, err := fleet.Agent("analyst").Call(ctx, "analyze", todo)
	if err != nil {
		return err
	}
	session.Stream(analysis.Text)
	if !analysis.Success {
		return nil
	}
	if from, err := fleet.Resumed(ctx); err != nil {
		return err
	} else if from != nil { // a fork may have another amount
		_ = json.Unmarshal(from.State[posthouse.OpaquePart].Data, &todo)
	}
	grant, err := gate.Propose(ctx, gate.Question{
		Name: "refund", Text: fmt.Sprintf("Refund %s EUR for order %s?\n%s", todo.Amount, todo.Order, analysis.Text),
		Expires: 4 * time.Hour, Labels: map[string]string{"team": "support"},
		Schema: object("order", `{"type":"string"}`, "amount", `{"type":"number","exclusiveMinimum":0,"maximum":500}`, "reason", `{"type":"string"}`),
	}, todo)
	if no := refusal(err); no != "" {
		session.Stream(no)
		return conclude(ctx, no)
	}
	if err != nil {
		return err
	}
	paid, err := fleet.Agent("cashier").Call(ctx, "pay", cashing{todo, grant})
	if err != nil {
		return err
	}
	session.Stream(paid.Text)
	return nil
}

// conclude ends a request without a cashier.
func conclude(ctx context.Context, outcome string) error {
	r, err := coord.NewResult(outcome, map[string]string{"outcome": outcome})
	if err != nil {
		return err
	}
	return coord.Conclude(ctx, r)
}

// refundState makes a checkpoint's state of what an agent answered, or was asked.
func refundState(_ context.Context, e coord.Event) (posthouse.State, error) {
	data := e.Data
	if e.Kind != coord.AgentCompleted {
		data = e.Args
	}
	return posthouse.State{posthouse.OpaquePart: {Codec: posthouse.JSON.Name(), Data: data}}, nil
}
