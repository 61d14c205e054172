package webhooks

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/notify/notifyfile"
)

// Webhook is the noun of endpoints. kinds are those that a file can have beside webhooks.
func Webhook(e *env.Env, kinds []notifyfile.Kind) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "webhook", Short: "Show, test and replay who is told what happens",
		Long: `Show, test and replay who is told what happens.

A file names the webhooks, and the server is started with it:

  posthouse serve --notify notify.yaml

Each message is signed by the Standard Webhooks specification. A receiver that fails is
tried again, and nothing else waits for it.`,
		Example: `  posthouse webhook check notify.yaml
  posthouse webhook list
  posthouse webhook deliveries ops
  posthouse webhook test ops`,
	}, list(e), deliveries(e), test(e), replay(e), resume(e), check(e, kinds), secret(e))
}
