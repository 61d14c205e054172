package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
)

func (a *app) threadHold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "hold THREAD", Short: "Put a thread under legal hold: nothing of it can be removed",
		Example: `  posthouse thread hold order-1234 --reason "case 7"`,
		Args:    args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var h posthouse.Hold
			body := map[string]string{"reason": reason}
			if err := c.Do(cmd.Context(), http.MethodPost, rest.Thread(args[0], "hold"), nil, body, &h); err != nil {
				return err
			}
			if a.JSON {
				return a.Encode(&h)
			}
			a.Line("thread %s is held by %s since %s", args[0], h.By, stamp(h.Since))
			a.next("posthouse thread unhold %s", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; goes on record")
	return cmd
}

func (a *app) threadUnhold() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "unhold THREAD", Short: "Lift a thread's legal hold",
		Example: `  posthouse thread unhold order-1234 --reason "case 7 is settled"`,
		Args:    args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if err := c.Do(cmd.Context(), http.MethodDelete, rest.Thread(args[0], "hold"), params("reason", reason), nil, nil); err != nil {
				return err
			}
			if a.JSON {
				return a.Encode(map[string]any{"thread": args[0], "held": false})
			}
			a.Line("thread %s is not held", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; goes on record")
	return cmd
}
