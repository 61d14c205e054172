package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// A deal is the input of the flow. Way says how its payment is made: "here", "here-idempotent",
// "here-valid" for a day, "here-reconciled", "here-twice", "away" at a worker, "handler" by what a worker's handler proposes.
type deal struct {
	Way    string
	Amount int
}

// A transfer is the content of the effects.
type transfer struct {
	To     string
	Amount int
}

// A bank makes the payments. Next says what the next one comes to.
type bank struct{ next string }

func (b *bank) pay(ctx context.Context, t transfer) (string, error) {
	switch b.next {
	case "die":
		os.Exit(3)
	case "refuse":
		return "", errors.New("the bank refused")
	case "reset":
		return "", errors.New("read tcp 127.0.0.1: connection reset by peer")
	case "lose":
		return "", fmt.Errorf("the answer is lost: %w", posthouse.ErrUnknown)
	case "ask":
		a, err := gate.Ask[string](ctx, gate.Question{Name: "account", Text: "Which account?", Verdicts: []posthouse.Verdict{posthouse.Respond}})
		if err != nil {
			return "", err
		}
		return "paid from " + a.Value, nil
	case "reserve, refuse", "reserve, lose":
		_, err := step.DoWith(ctx, "reserve", step.Options{Effect: posthouse.EffectWrite}, func(context.Context) (string, error) { return "reserved", nil })
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(b.next, "refuse") {
			return "", errors.New("the bank refused")
		}
		return "", fmt.Errorf("the answer is lost: %w", posthouse.ErrUnknown)
	}
	return fmt.Sprintf("paid %d to %s", t.Amount, t.To), nil
}

func (b *bank) deal(ctx context.Context, d deal) (string, error) {
	if d.Way == "handler" {
		return step.Remote[string](ctx, "pay", "pay", d.Amount)
	}
	q := gate.Question{Name: "pay", Text: "Pay?"}
	switch d.Way {
	case "here-twice":
		q.Uses = 2
	case "here-valid", "here-reconciled":
		q.ValidFor = 24 * time.Hour
	}
	grant, err := gate.Propose(ctx, q, transfer{"bob", d.Amount})
	if err != nil {
		return "", err
	}
	o := gate.ActOptions[transfer, string]{Idempotent: d.Way == "here-idempotent"}
	if d.Way == "here-reconciled" {
		o.Reconcile = func(context.Context, transfer) (string, bool, error) { return "", false, nil }
	}
	if d.Way == "here-twice" {
		if _, err := gate.Act(ctx, "first", grant, func(_ context.Context, t transfer) (string, error) { return "paid first", nil }, o); err != nil {
			return "", err
		}
	}
	return gate.Act(ctx, "pay", grant, func(ctx context.Context, t transfer) (string, error) {
		if d.Way == "away" {
			return step.Remote[string](ctx, "send", "pay", t)
		}
		return b.pay(ctx, t)
	}, o)
}
