package threads

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

func threadCancel(e *env.Env) *cobra.Command {
	var branch, reason string
	var yes bool
	cmd := &cobra.Command{
		Use: "cancel THREAD", Short: "Cancel what a thread does or waits for",
		Long: `Cancel what a thread does or waits for.

A branch that nobody runs ends at once, and its gates are cancelled. A run is
asked to stop; it then ends the branch. What is done or cancelled stays as it is.
To withdraw one question only, use posthouse cancel GATE.`,
		Example: `  posthouse thread cancel order-1234 --reason "the customer called it off"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if ok, err := e.Confirm(yes, "cancel thread %s?", args[0]); err != nil || !ok {
				return err
			}
			var answer json.RawMessage
			body := map[string]string{"branch": branch, "reason": reason}
			if err := c.Do(ctx, http.MethodPost, client.ThreadPath(args[0], "cancel"), nil, body, &answer); err != nil {
				return err
			}
			if e.Structured() {
				return e.Encode(answer)
			}
			var got struct {
				server.CancelAsked
				Status posthouse.Status `json:"status"`
			}
			if err := json.Unmarshal(answer, &got); err != nil {
				return badAnswer(err)
			}
			if got.Cancelling {
				e.Line("thread %s is being run: the run was asked to cancel", args[0])
			} else {
				e.Line("thread %s is %s", args[0], got.Status)
			}
			return nil
		}),
	}
	branchFlag(cmd, &branch)
	env.ReasonFlag(cmd, &reason)
	env.YesFlag(cmd, &yes)
	return cmd
}
