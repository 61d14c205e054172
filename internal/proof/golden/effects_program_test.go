package golden_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// A deal is the input of the flow of the stores with effects. Way says how its payment is made.
type deal struct {
	Way    string
	Amount int
}

// A transferred is the content of these effects.
type transferred struct {
	To     string
	Amount int
}

// A teller is the flow's bank today: it pays, and counts the payments.
type teller struct{ paid int }

func (b *teller) pay(ctx context.Context, way string, t transferred) (string, error) {
	if way == "asks" {
		a, err := gate.Ask[string](ctx, gate.Question{Name: "account", Text: "Which account?", Verdicts: []posthouse.Verdict{posthouse.Respond}})
		if err != nil {
			return "", err
		}
		b.paid++
		return "paid from " + a.Value, nil
	}
	if way == "reserves" {
		_, err := step.DoWith(ctx, "reserve", step.Options{Effect: posthouse.EffectWrite}, func(context.Context) (string, error) {
			return "", errors.New("it is reserved a second time")
		})
		if err != nil {
			return "", err
		}
	}
	b.paid++
	return fmt.Sprintf("paid %d to %s", t.Amount, t.To), nil
}

// deal is generate/program.go of the stores, for today. Within says what the payment's function does
// in addition.
func (b *teller) deal(within func() string) func(context.Context, deal) (string, error) {
	return func(ctx context.Context, d deal) (string, error) {
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
		grant, err := gate.Propose(ctx, q, transferred{"bob", d.Amount})
		if err != nil {
			return "", err
		}
		o := gate.ActOptions[transferred, string]{Idempotent: d.Way == "here-idempotent"}
		if d.Way == "here-reconciled" {
			o.Reconcile = func(context.Context, transferred) (string, bool, error) { return "", false, nil }
		}
		if d.Way == "here-twice" {
			_, err := gate.Act(ctx, "first", grant, func(_ context.Context, t transferred) (string, error) {
				b.paid++
				return "paid first", nil
			}, o)
			if err != nil {
				return "", err
			}
		}
		return gate.Act(ctx, "pay", grant, func(ctx context.Context, t transferred) (string, error) {
			if d.Way == "away" {
				return step.Remote[string](ctx, "send", "pay", t)
			}
			return b.pay(ctx, within(), t)
		}, o)
	}
}
