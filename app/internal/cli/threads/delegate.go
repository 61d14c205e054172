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
was asked, and the decision says in whose place it was made. Until then it can be
taken back. Names are those of posthouse people; another one is taken, with a warning.`,
		Example: `  posthouse delegate gate-019a... --to bob --reason "on holiday"
  posthouse people --gate gate-019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]any{"to": to, "by": by, "reason": reason}
			return env.Ask(ctx, e, c, http.MethodPost, "/api/gates"+client.Path(args[0], "delegate"), nil, body, func(g *client.Delegated) {
				e.Line("%s", tree.Assignment(&g.Assignments[len(g.Assignments)-1]))
				env.Warn(e, g.Warning)
				e.Next("posthouse take-back %s", g.ID)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "who shall decide; required")
	f.StringVar(&by, "by", "", "whose right it is, if not the token's owner's (needs the role operator)")
	env.ReasonFlag(cmd, &reason)
	return cmd
}

// TakeBack returns the command take-back.
func TakeBack(e *env.Env) *cobra.Command {
	var to, by, reason string
	cmd := &cobra.Command{
		Use:   "take-back GATE",
		Short: "Take back the right to decide that you delegated",
		Long: `Take back the right to decide that you delegated.

Also if it was handed on further since. It goes on record, and you may decide again.
Exit code 4 if a vote or decision came first: that stands.`,
		Example: `  posthouse take-back gate-019a...
  posthouse take-back gate-019a... --to bob --reason "back already"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := env.Members("to", to, "by", by, "reason", reason)
			return env.Ask(ctx, e, c, http.MethodPost, "/api/gates"+client.Path(args[0], "take-back"), nil, body, func(g *posthouse.Gate) {
				e.Line("%s", tree.Assignment(&g.Assignments[len(g.Assignments)-1]))
				e.Next("posthouse gate show %s", g.ID)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "to whom it was delegated; the newest delegation unless given")
	f.StringVar(&by, "by", "", "who delegated it, if not the token's owner (needs the role operator)")
	env.ReasonFlag(cmd, &reason)
	return cmd
}
