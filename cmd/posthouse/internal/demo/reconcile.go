package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// A Statement is the input of the flow reconcile: lines of a bank statement that are matched with
// invoices, one after the other.
type Statement struct {
	Account string `json:"account" doc:"IBAN of ours"`
	Day     string `json:"day" doc:"of the statement"`
	Lines   int    `json:"lines" doc:"how many there are"`
	Unclear int    `json:"unclear,omitempty" doc:"the line that fits no invoice; 0: all fit"`
}

// A Match is what a person answers about a line that fits no invoice.
type Match struct {
	Invoice string `json:"invoice" doc:"which invoice was paid"`
}

// A Line is what they are shown.
type Line struct {
	Line   int    `json:"line" doc:"Line"`
	Text   string `json:"text" doc:"Text"`
	Amount int    `json:"cents" doc:"Cents"`
}

func openReconcile(l *ledger.Ledger, w *World) (*flow.App[Statement, string], error) {
	return flow.New("reconcile", func(ctx context.Context, in Statement) (string, error) {
		for n := 1; n <= in.Lines; n++ {
			fits, err := step.Do(ctx, "match", func(ctx context.Context) (bool, error) {
				if err := step.Note(ctx, posthouse.Note{Line: fmt.Sprintf("line %d of %d", n, in.Lines)}); err != nil {
					return false, err
				}
				return n != in.Unclear, w.Spend(ctx, 6*time.Second)
			})
			if err != nil {
				return "", err
			}
			if fits {
				continue
			}
			a, err := gate.Ask[Match](ctx, gate.Question{
				Name: "match-payment", Kind: "form", Text: fmt.Sprintf("Which invoice does line %d of the statement of %s pay?", n, in.Day),
				Show: Line{n, "transfer without a number", 12500 + n}, Schema: object("invoice", `{"type":"string","pattern":"^INV-[0-9]+$"}`),
				Verdicts: []posthouse.Verdict{posthouse.Respond, posthouse.Reject}, Expires: 96 * time.Hour, Labels: map[string]string{"team": "finance"},
			})
			if err != nil {
				return "", err
			}
			if a.Verdict != posthouse.Respond {
				return fmt.Sprintf("line %d stays open: %s by %s", n, a.Verdict, a.By), nil
			}
		}
		return fmt.Sprintf("%d lines of %s match", in.Lines, in.Day), nil
	}).Open(l, &flow.Options{
		HoldFor: w.Park, Description: "Bank statements: each line matched with an invoice, and people asked about what fits none",
		Questions: []runs.Question{{Name: "match-payment", Text: "Which invoice does the line pay?", Payload: Line{}}},
	})
}
