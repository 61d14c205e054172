package main

import (
	"context"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/refund"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/server"
)

// A sample is the bundled workflow.
type sample struct{ dispatch *coord.Coordinator }

func newSample(l *posthouse.Ledger, dir string) (*sample, error) {
	log := refund.LogEffects
	if l.Posture().EncryptsAtRest {
		log = refund.LogKeys
	}
	c, err := refund.New(l, refund.Options{Effects: log(filepath.Join(dir, "effects.log"))})
	return &sample{c}, err
}

func (s *sample) program() posthouse.Program { return s.dispatch }

func (s *sample) agents() map[string]server.Agent {
	return map[string]server.Agent{s.dispatch.Name(): &agent{s.dispatch}}
}

// recover says what request an approval is about. Other programs need none.
func (s *sample) recover(c *posthouse.Checkpoint) (string, bool) {
	if c.Graph != s.dispatch.Name() {
		return "", true
	}
	return refund.Request(c.State)
}

// An agent lets requests from outside in to a coordinator.
type agent struct{ c *coord.Coordinator }

// Handle implements [server.Agent].
func (a *agent) Handle(ctx context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
	r, err := a.c.Handle(ctx, message, &coord.HandleOptions{
		Thread: o.Thread, By: o.By,
		Stream: func(f coord.Frame) error {
			switch {
			case f.Event != nil:
				o.Event(server.AgentEvent{Kind: string(f.Event.Kind), Data: f.Event})
			case f.Text != "":
				o.Text(f.Text)
			}
			return nil
		},
	})
	if r == nil {
		return nil, err
	}
	// The request was taken and is on record, also where its handler failed.
	text := r.Text
	if err != nil && text == "" {
		text = "failed: " + err.Error()
	}
	return &server.Reply{Thread: r.Thread, Checkpoint: r.Checkpoint, Gate: r.Gate, Text: text, Status: r.Status}, nil
}
