package webhooks

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/notify"
)

func list(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List webhooks, with how far each is and what went wrong last",
		Long: `List webhooks, with how far each is and what went wrong last.

Of STATE, new is one that no server has had yet, retrying one with messages that are tried
again, down one that is told nothing new until a delivery succeeds, and gone one whose
receiver wants no more: posthouse webhook resume goes on.`,
		Example: `  posthouse webhook list
  posthouse webhook list --json | jq '.items[] | select(.state != "ok")'`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			return env.Get(ctx, e, c, "/api/webhooks", nil, func(all *page) { show(e, all.Items) })
		}),
	}
}

// A page is how the server answers a list.
type page struct {
	Items []notify.Status `json:"items"`
	Next  string          `json:"next,omitempty"`
}

func show(e *env.Env, all []notify.Status) {
	if len(all) == 0 {
		e.Line("no webhook is configured")
		e.Next("posthouse serve --notify FILE")
		return
	}
	var rows [][]string
	for i := range all {
		s, failed := &all[i], "-"
		if s.Error != nil {
			failed = term.Clip(term.Visible(s.Error.Message), 60)
		}
		rows = append(rows, []string{
			s.Name, string(s.State), strconv.FormatUint(s.Delivered, 10), strconv.Itoa(s.Pending), strconv.FormatUint(s.GivenUp, 10),
			when(s.DeliveredAt), failed, term.Clip(term.Visible(s.Address), 60),
		})
	}
	e.Table([]string{"WEBHOOK", "STATE", "DELIVERED", "WAITING", "GIVEN UP", "LAST", "LAST ERROR", "ADDRESS"}, rows)
	for i := range all {
		if r := all[i].Replay; r != nil {
			e.Line("%s: %s", all[i].Name, replayed(r))
		}
	}
}

func replayed(r *notify.ReplayStatus) string {
	s := "the replay since " + tree.Time(r.From)
	if r.Ended.IsZero() {
		s += " is under way"
	} else {
		s += " is done"
	}
	return s + ": " + strconv.FormatUint(r.Sent, 10) + " sent, " + strconv.FormatUint(r.Failed, 10) + " given up"
}

func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return tree.Time(t)
}
