package threads

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// Delegate returns the command delegate.
func Delegate(e *env.Env) *cobra.Command {
	var to, by, reason string
	cmd := &cobra.Command{
		Use:   "delegate GATE",
		Short: "Delegate: let somebody else decide in your place",
		Long: `Delegate: let somebody else decide in your place.

Of a gate with assignees, by one of them. It goes on record; the gate stays as it
was asked, and the decision says in whose place it was made.`,
		Example: `  posthouse delegate gate-019a... --to bob --reason "on holiday"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]any{"to": to, "by": by, "reason": reason}
			return env.Ask(ctx, e, c, http.MethodPost, "/api/gates"+client.Path(args[0], "delegate"), nil, body, func(g *posthouse.Gate) {
				e.Line("%s", tree.Assignment(&g.Assignments[len(g.Assignments)-1]))
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "who shall decide; required")
	f.StringVar(&by, "by", "", "whose right it is, if not the token's owner's (needs the role operator)")
	env.ReasonFlag(cmd, &reason)
	return cmd
}
