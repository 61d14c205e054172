package cli

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
)

func (a *app) threadHold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "hold THREAD", Short: "Put a thread under legal hold: nothing of it can be removed",
		Example: `  posthouse thread hold order-1234 --reason "case 7"`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			body := map[string]string{"reason": reason}
			return ask(ctx, a, c, http.MethodPost, rest.Thread(args[0], "hold"), nil, body, func(h *server.Hold) {
				a.Line("thread %s is held by %s since %s", args[0], h.By, tree.Time(h.Since))
				a.next("posthouse thread unhold %s", args[0])
			})
		}),
	}
	reasonFlag(cmd, &reason)
	return cmd
}

func (a *app) threadUnhold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "unhold THREAD", Short: "Lift a thread's legal hold",
		Example: `  posthouse thread unhold order-1234 --reason "case 7 is settled"`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			if err := c.Do(ctx, http.MethodDelete, rest.Thread(args[0], "hold"), params("reason", reason), nil, nil); err != nil {
				return err
			}
			return a.answer(map[string]any{"thread": args[0], "held": false}, func() { a.Line("thread %s is not held", args[0]) })
		}),
	}
	reasonFlag(cmd, &reason)
	return cmd
}
