package webhooks

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/notify/notifyfile"
)

func check(e *env.Env, kinds []notifyfile.Kind) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check a file of webhooks and its secrets, without a server and without sending",
		Example: `  posthouse webhook check notify.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := notifyfile.Read(args[0], kinds...)
			if err != nil {
				return err
			}
			all, err := c.Endpoints(nil)
			if err != nil {
				return err
			}
			names := make([]string, len(all))
			for i := range all {
				names[i] = all[i].Name
			}
			return e.Answer(map[string]any{"webhooks": names}, func() {
				e.Line("%s can be used", term.Count(len(all), "webhook"))
				e.Next("posthouse serve --notify %s", env.Quoted(args[0]))
			})
		},
	}
}
