package webhooks

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/notify/webhook"
)

func secret(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "secret", Short: "Print a new secret, for a sender and its receiver",
		Long: `Print a new secret, for a sender and its receiver.

Put it into the webhook's secretFile, and give it to the receiver. To rotate, put a new one
on a line above the old one, give it to the receiver, and take the old line out: messages
are signed with both until then. The file is read again when it changes.`,
		Example: `  (umask 077; posthouse webhook secret > ops.secret)`,
		RunE: func(*cobra.Command, []string) error {
			s := webhook.NewSecret()
			return e.Answer(map[string]any{"secret": s}, func() { e.Line("%s", s) })
		},
	}
}
