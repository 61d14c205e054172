package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// An Invoice is the state of the graph invoice: it is read, compared with the order, approved and paid.
type Invoice struct {
	Number   string      `doc:"of the invoice, as its supplier writes it"`
	Supplier string      `doc:"who wants the money"`
	IBAN     string      `doc:"where the money goes"`
	Account  json.Number `doc:"the supplier's account in our books"`
	Amount   json.Number `doc:"with cents, as in 1250.00"`
	Currency string      `doc:"as in EUR"`
	Summary  string      `doc:"what the model read"`
	Finding  string      `doc:"what the comparison with the order found"`
	Grant    gate.Grant  `doc:"the decision that it is paid under"`
	Receipt  *Receipt    `doc:"of the bank"`
	Outcome  string      `doc:"how it ended"`
}

// A Payment is what people approve, and the bank carries out.
type Payment struct {
	Invoice  string      `json:"invoice" doc:"Invoice"`
	Supplier string      `json:"supplier" doc:"Supplier"`
	IBAN     string      `json:"iban" doc:"IBAN"`
	Account  json.Number `json:"account" doc:"Account"`
	Amount   json.Number `json:"amount" doc:"Amount"`
	Currency string      `json:"currency" doc:"Currency"`
}

func openInvoice(l *ledger.Ledger, w *World) (*graph.App[Invoice], error) {
	g := graph.New[Invoice]("invoice")
	g.Node("read", func(ctx context.Context, s *Invoice) (err error) {
		s.Summary, err = w.ask(ctx, "read", prompt{
			model: "small-3", takes: 1800 * time.Millisecond, cost: "0.0009 USD",
			input:  "Read the invoice " + s.Number + " of " + s.Supplier,
			answer: fmt.Sprintf("%s asks for %s %s, to be paid to %s", s.Supplier, s.Amount, s.Currency, s.IBAN),
		})
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: 30 * time.Second}})
	g.Node("compare", func(ctx context.Context, s *Invoice) (err error) {
		s.Finding = "matches the order"
		if large(s.Amount) {
			s.Finding = "is above what one person may approve"
		}
		return w.Spend(ctx, 200*time.Millisecond)
	})
	g.Command("approve", func(ctx context.Context, s *Invoice) (_ graph.Command, err error) {
		s.Grant, err = gate.ProposeFor(ctx, Payment{s.Number, s.Supplier, s.IBAN, s.Account, s.Amount, s.Currency}, askPayment)
		s.Outcome = refusal(err)
		if s.Outcome != "" {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("pay"), err
	}, graph.NodeOptions{Targets: []string{"pay", graph.End}})
	g.Node("pay", func(ctx context.Context, s *Invoice) error {
		r, err := act[Payment](ctx, w, "pay", s.Grant)
		s.Receipt, s.Outcome = &r, "paid"
		return err
	}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Minute}})
	g.Edge(graph.Start, "read")
	g.Edge("read", "compare")
	g.Edge("compare", "approve")
	g.Edge("pay", graph.End)
	return g.Compile(l, &graph.CompileOptions{
		HoldFor: w.Park, Description: "Invoices: read by a model, compared with the order, approved, paid",
		Questions: []runs.Question{{Name: "pay-invoice", Text: "Pay the invoice?", Payload: Payment{}}},
	})
}

// askPayment returns the question about a payment. Large ones take two people.
func askPayment(p Payment) gate.Question {
	q := gate.Question{
		Name: "pay-invoice", Text: fmt.Sprintf("Pay %s %s to %s for invoice %s?", p.Amount, p.Currency, p.Supplier, p.Invoice),
		Expires: 72 * time.Hour, Labels: map[string]string{"team": "finance"},
		Schema: object("invoice", `{"type":"string"}`, "supplier", `{"type":"string"}`, "iban", `{"type":"string","minLength":15,"maxLength":34}`,
			"account", `{"type":"integer"}`, "amount", `{"type":"number","exclusiveMinimum":0}`, "currency", `{"enum":["EUR","USD"]}`),
	}
	if large(p.Amount) {
		q.Schema, q.FourEyes = nil, true
	}
	return q
}

// large reports whether an amount takes two people.
func large(amount json.Number) bool {
	n, err := amount.Float64()
	return err != nil || n >= 10000
}
