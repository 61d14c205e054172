package clitest

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// Refunds has a coordinator that asks before it does anything.
func Refunds(_ context.Context, at *host.Env) (*host.Set, error) {
	fleet, err := coord.NewFleet()
	if err != nil {
		return nil, err
	}
	c, err := coord.New(at.Ledger, "dispatch", fleet, func(ctx context.Context, message string, _ *coord.Fleet, _ *coord.Session) error {
		_, err := gate.Ask[any](ctx, gate.Question{Name: "refund", Text: "Carry out: " + message, AllowRequester: true})
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return &host.Set{Programs: []posthouse.Program{c}, Next: `send dispatch "please refund order 1"`}, nil
}

// Counting has a flow of one step, which is a task. It stores the flow's App in app.
func Counting(app **flow.App[string, int]) func(context.Context, *host.Env) (*host.Set, error) {
	return func(_ context.Context, at *host.Env) (_ *host.Set, err error) {
		*app, err = flow.New("count", func(ctx context.Context, text string) (int, error) {
			return step.Remote[int](ctx, "words", "words", text)
		}).Open(at.Ledger, nil)
		return &host.Set{Programs: []posthouse.Program{*app}}, err
	}
}
