package threads

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

func threadHold(e *env.Env) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "hold THREAD", Short: "Put a thread under legal hold: nothing of it can be removed",
		Example: `  posthouse thread hold order-1234 --reason "case 7"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]string{"reason": reason}
			return env.Ask(ctx, e, c, http.MethodPost, client.ThreadPath(args[0], "hold"), nil, body, func(h *server.Hold) {
				e.Line("thread %s is held by %s since %s", args[0], h.By, tree.Time(h.Since))
				e.Next("posthouse thread unhold %s", args[0])
			})
		}),
	}
	env.ReasonFlag(cmd, &reason)
	return cmd
}

func threadUnhold(e *env.Env) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "unhold THREAD", Short: "Lift a thread's legal hold",
		Example: `  posthouse thread unhold order-1234 --reason "case 7 is settled"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Do(ctx, http.MethodDelete, client.ThreadPath(args[0], "hold"), env.Params("reason", reason), nil, nil); err != nil {
				return err
			}
			return e.Answer(map[string]any{"thread": args[0], "held": false}, func() { e.Line("thread %s is not held", args[0]) })
		}),
	}
	env.ReasonFlag(cmd, &reason)
	return cmd
}
