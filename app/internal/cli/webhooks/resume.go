package webhooks

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
)

func resume(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "resume WEBHOOK", Short: "Have a webhook go on that its receiver stopped, and try at once what waits",
		Example: `  posthouse webhook resume ops`,
		RunE: e.AsWritten(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Operations().ResumeWebhook(ctx, args[0]); err != nil {
				return err
			}
			return e.Answer(map[string]any{"webhook": args[0], "resumed": true}, func() { e.Line("%s goes on", args[0]) })
		}),
	}
}
