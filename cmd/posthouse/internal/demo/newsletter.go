package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// An Issue is the input of the flow newsletter.
type Issue struct {
	Title   string `json:"title" doc:"of the issue"`
	Topic   string `json:"topic" doc:"what it is about"`
	List    string `json:"list" doc:"who gets it"`
	Readers int    `json:"readers" doc:"how many they are"`
}

// A Mailing is what people approve.
type Mailing struct {
	Subject string `json:"subject" doc:"Subject"`
	List    string `json:"list" doc:"List"`
	Readers int    `json:"readers" doc:"Readers"`
	Body    string `json:"body" doc:"Text"`
}

// A Report says how a newsletter was read.
type Report struct {
	Outcome string `json:"outcome"`
	Opened  int    `json:"opened,omitempty"`
}

func openNewsletter(l *ledger.Ledger, w *World) (*flow.App[Issue, Report], error) {
	return flow.New("newsletter", func(ctx context.Context, in Issue) (Report, error) {
		body, err := w.ask(ctx, "write", prompt{
			model: "large-2", takes: 7100 * time.Millisecond, cost: "0.0512 USD", input: "Write about " + in.Topic,
			answer: "Dear readers,\n\nthis month it is " + in.Topic + ". We show what changed, why, and what you can leave as it is.\n\nYours",
		})
		if err != nil {
			return Report{}, err
		}
		subject, err := w.ask(ctx, "title", prompt{model: "small-3", takes: 900 * time.Millisecond, cost: "0.0004 USD", input: body, answer: in.Title + ": " + in.Topic})
		if err != nil {
			return Report{}, err
		}
		grant, err := gate.Propose(ctx, gate.Question{
			Name: "send-newsletter", Text: fmt.Sprintf("Send %q to %d readers?", subject, in.Readers),
			Expires: 48 * time.Hour, Labels: map[string]string{"team": "marketing"},
		}, Mailing{subject, in.List, in.Readers, body})
		if no := refusal(err); no != "" {
			return Report{Outcome: no}, nil
		}
		if err != nil {
			return Report{}, err
		}
		if _, err := act[Mailing](ctx, w, "send", grant); err != nil {
			return Report{}, err
		}
		if err := step.Sleep(ctx, "until it was read", 72*time.Hour); err != nil {
			return Report{}, err
		}
		opened, err := step.Do(ctx, "count", func(ctx context.Context) (int, error) {
			return in.Readers * 41 / 100, w.Spend(ctx, 300*time.Millisecond)
		})
		return Report{"sent", opened}, err
	}).Open(l, &flow.Options{
		HoldFor: w.Park, Description: "Newsletters: written by a model, approved, sent, and counted three days later",
		Questions: []runs.Question{{Name: "send-newsletter", Text: "Send the newsletter?", Payload: Mailing{}}},
	})
}
