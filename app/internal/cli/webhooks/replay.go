package webhooks

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

func replay(e *env.Env) *cobra.Command {
	var since past
	cmd := &cobra.Command{
		Use: "replay WEBHOOK", Short: "Send a webhook once more what happened since a time",
		Long: `Send a webhook once more what happened since a time, and until now.

Messages have the ids that they had, so that a receiver that has one can tell. The server
that has the webhook sends them beside what happens now, and goes on after a restart.`,
		Example: `  posthouse webhook replay ops --since 2h
  posthouse webhook replay ops --since 2026-11-26T09:00:00Z`,
		RunE: e.AsWritten(func(ctx context.Context, c *client.Client, args []string) error {
			if since == (past{}) {
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "since", Message: "is missing", Hint: "as in --since 2h, or --since 2026-11-26T09:00:00Z"}
			}
			from := since.before(time.Now())
			if err := c.Operations().ReplayWebhook(ctx, args[0], from); err != nil {
				return err
			}
			return e.Answer(map[string]any{"webhook": args[0], "since": from}, func() {
				e.Line("%s is sent once more what happened since %s", args[0], tree.Time(from))
				e.Next("posthouse webhook list")
			})
		}),
	}
	cmd.Flags().Var(&since, "since", "how long ago, as in 2h or 7d, or when, as in 2026-11-26T09:00:00Z")
	return cmd
}

// A past is a flag that takes how long ago, or when.
type past struct {
	ago env.Span
	at  time.Time
}

func (*past) Type() string { return "duration or time" }

func (p *past) String() string {
	if !p.at.IsZero() {
		return p.at.Format(time.RFC3339)
	}
	return p.ago.String()
}

func (p *past) Set(v string) error {
	*p = past{}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		p.at = at
		return nil
	}
	if err := p.ago.Set(v); err != nil || p.ago <= 0 {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: strconv.Quote(v) + " is neither how long ago nor when", Hint: "as in 2h or 7d, or 2026-11-26T09:00:00Z",
		}
	}
	return nil
}

// before returns the time that the flag means.
func (p *past) before(now time.Time) time.Time {
	if !p.at.IsZero() {
		return p.at.UTC()
	}
	return now.Add(-time.Duration(p.ago)).UTC().Truncate(time.Second)
}
