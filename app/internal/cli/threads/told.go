package threads

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/notify"
)

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
			return env.Get(ctx, e, c, "/api/gates"+client.Path(args[0], "deliveries"), nil, func(all *notify.GateTold) { showTold(e, all) })
		}),
	}
}

// alsoTold prints who was told of a gate, if any endpoint is told of it. An older server does not say.
func alsoTold(ctx context.Context, e *env.Env, c *client.Client, id posthouse.ID) {
	all := new(notify.GateTold)
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

func showTold(e *env.Env, all *notify.GateTold) {
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
		t := &all.Items[i]
		at := t.At
		if t.State == notify.ToldWaiting || t.State == notify.ToldEarlier || t.State == notify.ToldUnknown && t.At.IsZero() {
			at = t.Happened
		}
		rows = append(rows, []string{tree.Time(at), string(t.Event), t.Endpoint + " (" + term.Clip(term.Visible(t.Kind), 20) + ")", wentTold(t)})
	}
	e.Table([]string{"AT", "EVENT", "ENDPOINT", "WENT"}, rows)
}

// wentTold returns how it stands with telling an endpoint, in words.
func wentTold(t *notify.Told) string {
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
	case notify.ToldTaken:
		said, why = strings.TrimSpace("told "+to), ""
	case notify.ToldRetrying:
		said = "not told, failed " + failed
		if to != "" {
			said = "told " + to + " only, failed " + failed
		}
		if !t.Next.IsZero() {
			said += ", tried again " + tree.Time(t.Next)
		}
	case notify.ToldWaiting:
		said = "not told yet"
		if !t.Failing.IsZero() {
			said += ", it takes nothing since " + tree.Time(t.Failing)
		}
	case notify.ToldStopped:
		said = "not told, its receiver wants no more messages"
	case notify.ToldGivenUp:
		said = "not told, given up after " + strconv.Itoa(max(t.Attempts, 1)) + " attempts"
		if to != "" {
			said = "told " + to + " only, given up after " + strconv.Itoa(t.Attempts) + " attempts"
		}
	case notify.ToldPassed:
		said, why = "there was nothing to send, or nobody to send it to", ""
	case notify.ToldEarlier:
		said, why = "not told, it happened before this endpoint was set up", ""
	}
	return term.Clip(term.Visible(said+why), 200)
}
