package cli

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/tree"
)

func (a *app) askAgainCmd() *cobra.Command {
	return &cobra.Command{
		Use: "ask-again GATE", Short: "Ask a question again that nobody answered",
		Long: `Ask a question again that nobody answered: its deadline passed, or it was withdrawn.

While the checkpoint that waited is the head of its branch, it is asked there,
else on a new branch, with as much time as it had. Exit code 4 if it is open, or
if a person decided it.`,
		Example: `  posthouse ask-again gate-019a...`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return ask(ctx, a, c, http.MethodPost, "/api/gates"+rest.Path(args[0], "ask-again"), nil, nil, func(g *posthouse.Gate) {
				a.Fields("gate", string(g.ID), "asks", question(g), "thread", g.Thread, "branch", g.Branch, "expires", tree.Time(g.ExpiresAt))
				a.next("posthouse approve %s", g.ID)
			})
		}),
	}
}
