package cli

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/server"
)

func (a *app) signalCmd() *cobra.Command {
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
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			value := json.RawMessage("null")
			if len(args) == 3 {
				if value, err = a.readArg(args[2]); err != nil {
					return err
				}
				if !json.Valid(value) {
					return &posthouse.Error{
						Code: posthouse.CodeInvalid, Field: "value", Message: "is not JSON", Hint: `text needs quotes of its own: '"like this"'`,
					}
				}
			}
			q := params("id", id)
			if latch {
				q.Set("latch", "true")
			}
			if early {
				q.Set("early", "true")
			}
			var s posthouse.Signal
			if err := c.Do(cmd.Context(), http.MethodPost, rest.Thread(args[0], "signals", args[1]), q, value, &s); err != nil {
				return err
			}
			if a.JSON {
				return a.Encode(&s)
			}
			a.Line("sent %s as entry %d of thread %s", s.Name, s.Seq, s.Thread)
			for _, g := range s.Gates {
				a.Line("answered %s", g)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "id", "", "the signal's id, so that it can be sent again safely")
	f.BoolVar(&latch, "latch", false, "answer all that waits for the name")
	f.BoolVar(&early, "early", false, "also to a thread that is not there yet")
	return cmd
}

func (a *app) threadCancel() *cobra.Command {
	var branch, reason string
	var yes bool
	cmd := &cobra.Command{
		Use: "cancel THREAD", Short: "Cancel what a thread does or waits for",
		Long: `Cancel what a thread does or waits for.

A branch that nobody runs ends at once, and its gates are cancelled. A run is
asked to stop; it then ends the branch. What is done or cancelled stays as it is.
To withdraw one question only, use posthouse cancel GATE.`,
		Example: `  posthouse thread cancel order-1234 --reason "the customer called it off"`,
		Args:    args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if ok, err := a.Confirm(yes, "cancel thread %s?", args[0]); err != nil || !ok {
				return err
			}
			var answer json.RawMessage
			body := map[string]string{"branch": branch, "reason": reason}
			if err := c.Do(cmd.Context(), http.MethodPost, rest.Thread(args[0], "cancel"), nil, body, &answer); err != nil {
				return err
			}
			if a.JSON {
				return a.Encode(answer)
			}
			var got struct {
				server.CancelAsked
				Status posthouse.Status `json:"status"`
			}
			if err := json.Unmarshal(answer, &got); err != nil {
				return badAnswer(err)
			}
			if got.Cancelling {
				a.Line("thread %s is being run: the run was asked to cancel", args[0])
			} else {
				a.Line("thread %s is %s", args[0], got.Status)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&branch, "branch", "", "branch of the thread (default main)")
	f.StringVar(&reason, "reason", "", "why; goes on record")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
