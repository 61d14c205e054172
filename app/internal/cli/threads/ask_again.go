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

// AskAgain returns the command ask-again.
func AskAgain(e *env.Env) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "ask-again GATE", Short: "Ask a question again that nobody answered",
		Long: `Ask a question again that nobody answered: its deadline passed, or it was withdrawn.

While the checkpoint that waited is the head of its branch, it is asked there,
else on a new branch, with as much time as it had. A reason is on record and is shown
to who is asked. Exit code 4 if it is open, or
if a person decided it.`,
		Example: `  posthouse ask-again gate-019a...
  posthouse ask-again gate-019a... --reason "it expired over a holiday"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			var body any
			if reason != "" {
				body = map[string]string{"reason": reason}
			}
			return env.Ask(ctx, e, c, http.MethodPost, "/api/gates"+client.Path(args[0], "ask-again"), nil, body, func(g *posthouse.Gate) {
				e.Fields("gate", string(g.ID), "asks", headline(g), "note", g.Note, "thread", g.Thread, "branch", g.Branch, "expires", tree.Time(g.ExpiresAt))
				nextAnswer(e, g)
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it is asked again; at most 1,000 bytes")
	return cmd
}
