package webhooks

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
)

func test(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "test WEBHOOK", Short: "Send a webhook a test event, once and at once",
		Example: `  posthouse webhook test ops`,
		RunE: e.AsWritten(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Operations().TestWebhook(ctx, args[0])
			if err != nil {
				return err
			}
			if !t.Delivered {
				return &posthouse.Error{
					Code: posthouse.CodeUnavailable, Message: "webhook " + args[0] + " did not take " + t.Message + ": " + t.Error,
					Hint: "see its log; posthouse webhook list shows where it is",
				}
			}
			return e.Answer(t, func() { e.Line("%s took %s after %d ms", args[0], t.Message, t.Millis) })
		}),
	}
}
