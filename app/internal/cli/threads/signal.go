package threads

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
)

// Signal returns the command signal.
func Signal(e *env.Env) *cobra.Command {
	var id string
	var latch, early bool
	cmd := &cobra.Command{
		Use:   "signal THREAD NAME [JSON]",
		Short: "Send a signal to a thread",
		Long: `Send a signal to a thread.

Its value is JSON: - reads standard input, @FILE a file; without it the value is
null. The signal is on record whether or not anything waits for it, and what
waits goes on. With --id, sending it again sends nothing.`,
		Example: `  posthouse signal order-1234 paid '{"amount": 20}'
  posthouse signal order-1234 paid @payment.json --id payment-77`,
		RunE: func(cmd *cobra.Command, args []string) error {
			value := json.RawMessage("null")
			if len(args) == 3 {
				var err error
				value, err = e.ReadJSON("value", args[2], `text needs quotes of its own: '"like this"'`)
				if err != nil {
					return err
				}
			}
			q := env.Params("id", id, "latch", env.IfSet(latch), "early", env.IfSet(early))
			send := func(ctx context.Context, c *client.Client, args []string) error {
				return env.Ask(ctx, e, c, http.MethodPost, client.ThreadPath(args[0], "signals", args[1]), q, value, func(s *posthouse.Signal) {
					e.Line("sent %s as entry %d of thread %s", s.Name, s.Seq, s.Thread)
					for _, g := range s.Gates {
						e.Line("answered %s", g)
					}
				})
			}
			if early {
				return e.AsWritten(send)(cmd, args)
			}
			return e.Online(send)(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "id", "", "the signal's id, so that it can be sent again safely")
	f.BoolVar(&latch, "latch", false, "answer all that waits for the name")
	f.BoolVar(&early, "early", false, "also to a thread that is not there yet")
	return cmd
}
