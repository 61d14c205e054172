package threads

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// Gate returns the command gate, with what is below it.
func Gate(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "gate", Aliases: []string{"gates"}, Short: "Show a gate before it is decided, or set it aside",
		Example: `  posthouse gate show gate-019a...
  posthouse gate snooze gate-019a... --for 4h`,
	}, gateShow(e), gateDeliveries(e), gateSnooze(e), gateUnsnooze(e))
}

func gateShow(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show [GATE]", Short: "Show what a gate asks: its text and its content",
		Long: `Show what a gate asks: its text and its content, as an approval licenses it.

GATE is a gate's id, or that of an approval (apr_...) that a tool waits for on its
caller's connection. Without one, a person at a terminal picks from the inbox. A character that people do not see, or that reorders what they
see, is shown as ‹U+202E› in text and as \u202e in JSON, and a line warns of it. Each
line of the text and the content begins with a bar: none passes for one of the
command's. Below stands who was told of it, by which channel, and where that failed. What
ran under a decision is shown by posthouse grant.`,
		Example: `  posthouse gate show gate-019a...
  posthouse gate show gate-019a... --json | jq .payload`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := given(ctx, e, c, args)
			if err != nil {
				return err
			}
			q, err := readQuestion(ctx, c, id)
			if err != nil {
				return err
			}
			answer := struct {
				*posthouse.Gate
				Why string `json:"why,omitempty"`
			}{&q.gate, q.why}
			return e.Answer(&answer, func() {
				q.show(&e.Term)
				if !isApproval(string(q.gate.ID)) {
					alsoTold(ctx, e, c, q.gate.ID)
				}
				switch {
				case q.gate.Decision != nil:
					e.Line("\n%s", decidedSo(q.gate.Decision, q.why))
					e.Next("posthouse grant %s", q.gate.ID)
				case q.gate.AsksPeople() || isApproval(string(q.gate.ID)):
					offerAnswer(e, &q.gate) // it is shown already
				}
			})
		}),
	}
}

func gateSnooze(e *env.Env) *cobra.Command {
	var until, after, by, reason string
	cmd := &cobra.Command{
		Use: "snooze GATE", Short: "Hide a gate from your own inbox for a while",
		Long: `Hide a gate from your own inbox for a while.

It moves no deadline: others see the gate, and it can be decided all the same. It comes
back at the time, and before that with a reminder or the escalation. Without a time it
comes back with these. posthouse inbox --assignee me --snoozed only lists what you hid.`,
		Example: `  posthouse gate snooze gate-019a... --for 4h
  posthouse gate snooze gate-019a... --until 2026-12-01T09:00:00Z --reason "waiting for the invoice"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]any{"by": by, "reason": reason}
			if until != "" {
				body["until"] = until
			}
			if after != "" {
				body["for"] = after
			}
			return env.Ask(ctx, e, c, http.MethodPost, "/api/gates"+client.Path(args[0], "snooze"), nil, body, func(g *posthouse.Gate) {
				e.Line("%s", tree.Notice(&g.Notices[len(g.Notices)-1]))
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&until, "until", "", "when it comes back, as in 2026-12-01T09:00:00Z")
	f.StringVar(&after, "for", "", "after how long it comes back, as in 4h or 2d")
	f.StringVar(&by, "by", "", "whose inbox, if not the token's owner's (needs the role operator)")
	env.ReasonFlag(cmd, &reason)
	return cmd
}

func gateUnsnooze(e *env.Env) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "unsnooze GATE", Short: "Have a gate back in your inbox that you hid",
		Example: `  posthouse gate unsnooze gate-019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			q := url.Values(env.Params("by", by))
			return env.Ask(ctx, e, c, http.MethodDelete, "/api/gates"+client.Path(args[0], "snooze"), q, nil, func(g *posthouse.Gate) {
				e.Line("%s is in the inbox", g.ID)
			})
		}),
	}
	cmd.Flags().StringVar(&by, "by", "", "whose inbox, if not the token's owner's (needs the role operator)")
	return cmd
}

func gateDeliveries(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "deliveries GATE", Short: "List who was told of a gate, and where that failed",
		Long: `List who was told of a gate, by which webhook, Slack or mail, and where that failed.

Each event of the gate (asked, handed on, escalated, reminded, decided) has a line for
each endpoint of the server's configuration that is told of such events. An endpoint
was told if its receiver acknowledged the message. posthouse gate show has the same lines.`,
		Example: `  posthouse gate deliveries gate-019a...
  posthouse gate deliveries gate-019a... --json | jq '.items[] | select(.state != "told")'`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			return env.Get(ctx, e, c, "/api/gates"+client.Path(args[0], "deliveries"), nil, func(all *client.GateDeliveries) { showTold(e, all) })
		}),
	}
}

// alsoTold prints who was told of a gate, if any endpoint is told of it. An older server does not say.
func alsoTold(ctx context.Context, e *env.Env, c *client.Client, id posthouse.ID) {
	all := new(client.GateDeliveries)
	err := c.Get(ctx, "/api/gates"+client.Path(string(id), "deliveries"), nil, all)
	switch {
	case errors.Is(err, posthouse.ErrNotFound):
	case err != nil:
		e.Line("\nwho was told cannot be read: %s", term.Visible(err.Error()))
	case all.Endpoints > 0:
		e.Line("\ntold")
		showTold(e, all)
	}
}

func showTold(e *env.Env, all *client.GateDeliveries) {
	switch {
	case all.Endpoints == 0:
		e.Line("this server tells nobody of gates: it has no webhook, Slack or mail")
		return
	case len(all.Items) == 0:
		e.Line("no endpoint is told of this gate")
		return
	}
	var rows [][]string
	for i := range all.Items {
		t := all.Items[i]
		at := t.At
		if t.State == "waiting" || t.State == "earlier" || t.State == "unknown" && t.At.IsZero() {
			at = t.Happened
		}
		rows = append(rows, []string{tree.Time(at), t.Event, t.Endpoint + " (" + term.Clip(term.Visible(t.Kind), 20) + ")", wentTold(t)})
	}
	e.Table([]string{"AT", "EVENT", "ENDPOINT", "WENT"}, rows)
}

// wentTold returns how it stands with telling an endpoint, in words.
func wentTold(t *client.GateDelivery) string {
	to := strings.Join(t.To, ", ")
	if t.Others > 0 {
		to += " and " + strconv.Itoa(t.Others) + " more"
	}
	why := ""
	switch {
	case t.Error != "":
		why = ": " + t.Error
	case t.Status != 0:
		why = ": it answered " + strconv.Itoa(t.Status)
	}
	failed := strconv.Itoa(t.Attempts) + " times"
	if t.Attempts == 1 {
		failed = "once"
	}
	said := "not known any more"
	switch t.State {
	case "told":
		said, why = strings.TrimSpace("told "+to), ""
	case "retrying":
		said = "not told, failed " + failed
		if to != "" {
			said = "told " + to + " only, failed " + failed
		}
		if !t.Next.IsZero() {
			said += ", tried again " + tree.Time(t.Next)
		}
	case "waiting":
		said = "not told yet"
		if !t.Failing.IsZero() {
			said += ", it takes nothing since " + tree.Time(t.Failing)
		}
	case "stopped":
		said = "not told, its receiver wants no more messages"
	case "givenUp":
		said = "not told, given up after " + strconv.Itoa(max(t.Attempts, 1)) + " attempts"
		if to != "" {
			said = "told " + to + " only, given up after " + strconv.Itoa(t.Attempts) + " attempts"
		}
	case "passed":
		said, why = "there was nothing to send, or nobody to send it to", ""
	case "earlier":
		said, why = "not told, it happened before this endpoint was set up", ""
	}
	return term.Clip(term.Visible(said+why), 200)
}
