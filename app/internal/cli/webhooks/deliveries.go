package webhooks

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/notify"
)

func deliveries(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "deliveries WEBHOOK", Short: "List the newest attempts to deliver to a webhook",
		Long: `List the newest attempts to deliver to a webhook, the newest first.

The server keeps the last 50, with those of replays and without tests. MESSAGE is the
id of the header webhook-id: the same for each attempt of a message.`,
		Example: `  posthouse webhook deliveries ops
  posthouse webhook deliveries ops --json | jq '.items[] | select(.delivered | not)'`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			return env.Get(ctx, e, c, "/api/webhooks"+client.Path(args[0], "deliveries"), nil, func(all *attempts) { showAttempts(e, all.Items) })
		}),
	}
}

// attempts are how the server answers a list of them.
type attempts struct {
	Items []notify.Delivery `json:"items"`
}

func showAttempts(e *env.Env, all []notify.Delivery) {
	if len(all) == 0 {
		e.Line("nothing was delivered yet")
		return
	}
	var rows [][]string
	for i := range all {
		d := &all[i]
		went := "taken"
		if !d.Delivered {
			went = term.Clip(term.Visible(d.Error), 60)
		}
		number := strconv.Itoa(d.Attempt)
		if d.Replay {
			number += " of a replay"
		}
		rows = append(rows, []string{tree.Time(d.At), string(d.Type), d.Thread, number, strconv.FormatInt(d.Millis, 10) + "ms", went, d.ID})
	}
	e.Table([]string{"AT", "EVENT", "THREAD", "ATTEMPT", "TOOK", "WENT", "MESSAGE"}, rows)
}
