package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// An Erasure is the input of the flow erasure: a customer wants their data gone.
type Erasure struct {
	Customer string   `json:"customer" doc:"as in C-417"`
	Mail     string   `json:"mail" doc:"where they confirm it"`
	Systems  []string `json:"systems" doc:"where to look for their data"`
}

// Records say how much a system has of a customer.
type Records struct {
	System string `json:"system"`
	Count  int    `json:"count"`
}

// A Deletion is what people approve.
type Deletion struct {
	Customer string    `json:"customer" doc:"Customer"`
	Mail     string    `json:"mail" doc:"Mail"`
	Records  []Records `json:"records" doc:"What is erased"`
}

func openErasure(l *ledger.Ledger, w *World) (*flow.App[Erasure, string], error) {
	return flow.New("erasure", func(ctx context.Context, in Erasure) (string, error) {
		if _, err := step.Signal[string](ctx, "confirmed", step.SignalOptions{Timeout: 14 * 24 * time.Hour}); err != nil {
			return "", err
		}
		found, err := step.Map(ctx, "find", in.Systems, func(ctx context.Context, system string) (Records, error) {
			if err := w.fail("find", system+" "+in.Customer); err != nil {
				return Records{}, err
			}
			err := step.Note(ctx, posthouse.Note{Line: "looked for " + in.Customer + " in " + system})
			if err != nil {
				return Records{}, err
			}
			return Records{system, 7*len(system) + len(in.Mail)}, w.Spend(ctx, 500*time.Millisecond)
		}, step.GroupOptions{Concurrency: w.Beside})
		if err != nil {
			return "", err
		}
		grant, err := gate.Propose(ctx, gate.Question{
			Name: "erase-customer", Text: fmt.Sprintf("Erase all data of customer %s?\nThis cannot be taken back.", in.Customer),
			Assignees: []string{"dana"}, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
			Expires: 7 * 24 * time.Hour, Labels: map[string]string{"team": "privacy"},
		}, Deletion{in.Customer, in.Mail, found})
		if no := refusal(err); no != "" {
			return no, nil
		}
		if err != nil {
			return "", err
		}
		if slices.Contains(in.Systems, "tapes") { // somebody has to fetch them: a task for a worker
			_, err = gate.Act(ctx, "erase", grant, func(ctx context.Context, d Deletion) (Receipt, error) {
				return step.Remote[Receipt](ctx, "wipe", "wipe-tapes", d)
			})
		} else {
			_, err = act[Deletion](ctx, w, "erase", grant)
		}
		if err != nil {
			return "", err
		}
		if err := step.Sleep(ctx, "until the backups are gone", 30*24*time.Hour); err != nil {
			return "", err
		}
		return "erased", nil
	}).Open(l, &flow.Options{
		HoldFor: w.Park, Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: 45 * time.Second},
		Description: "Erasure of a customer's data: confirmed by a signal, found, approved, erased, and over when the backups are gone",
		Questions:   []runs.Question{{Name: "erase-customer", Text: "Erase all data of the customer?", Payload: Deletion{}}},
	})
}
