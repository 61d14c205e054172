package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// Send returns the command send.
func Send(e *env.Env) *cobra.Command {
	var thread string
	var withdraw bool
	cmd := &cobra.Command{
		Use:   "send AGENT MESSAGE",
		Short: "Send a request to an agent and follow it until it waits or ends",
		Long: `Send a request to an agent and follow it until it waits or ends.

MESSAGE is text; - reads it from standard input, @FILE from a file. What the
agent says is printed as it comes. The work goes on if this command is stopped.
Exit code 1 if it failed.

A thread that waits for a person, or whose decision has not been acted on yet, refuses the
message and names the gate (exit code 4). With --withdraw the question is withdrawn.`,
		Example: `  posthouse send dispatch "please refund order 1234"
  posthouse send dispatch @request.txt --thread order-1234`,
		RunE: func(cmd *cobra.Command, args []string) error {
			message, err := e.ReadArg(args[1])
			if err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			body := env.Members("thread", thread)
			body["message"] = string(message)
			if withdraw {
				body["withdraw"] = true
			}
			reply, err := converse(cmd.Context(), e, c, args[0], body)
			if err != nil {
				return err
			}
			if err := showReply(cmd.Context(), e, c, reply); err != nil || reply.Checkpoint == "" || reply.Gate != "" {
				return err
			}
			var led server.Checkpoint
			if err := c.Get(cmd.Context(), "/api/checkpoints"+client.Path(string(reply.Checkpoint)), nil, &led); err != nil {
				return err
			}
			return failed(led.Status)
		},
	}
	cmd.Flags().StringVar(&thread, "thread", "", "work on this thread (default: a new one)")
	cmd.Flags().BoolVar(&withdraw, "withdraw", false, "withdraw a question that people are asked on the thread")
	return cmd
}

// converse prints what the agent streams and returns its reply.
func converse(ctx context.Context, e *env.Env, c *client.Client, agent string, body any) (*server.Reply, error) {
	for ev, err := range c.Stream(ctx, http.MethodPost, client.AgentPath(agent), nil, body) {
		if err != nil {
			return nil, err
		}
		switch ev.Name {
		case "text":
			var t struct{ Text string }
			if err := json.Unmarshal(ev.Data, &t); err != nil {
				return nil, badAnswer(err)
			}
			if !e.Structured() {
				fmt.Fprintln(e.Out, term.VisibleText(t.Text))
			}
		case "done":
			reply := new(server.Reply)
			if err := json.Unmarshal(ev.Data, reply); err != nil {
				return nil, badAnswer(err)
			}
			return reply, nil
		case "error":
			return nil, client.Problem(ev.Data)
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeUnknown, Message: "the server ended the stream before the agent was done",
		Hint: "the work goes on without it; see: posthouse thread list",
	}
}

func showReply(ctx context.Context, e *env.Env, c *client.Client, r *server.Reply) error {
	if e.Structured() {
		return e.Encode(r)
	}
	e.Line("")
	e.Fields("thread", r.Thread, "checkpoint", string(r.Checkpoint), "gate", string(r.Gate))
	if r.Gate != "" {
		if q, err := readQuestion(ctx, c, string(r.Gate)); err == nil {
			nextAnswer(e, &q.gate)
		} else { // who sends need not be allowed to read what is asked
			e.Next("posthouse gate show %s", r.Gate)
		}
		return nil
	}
	e.Next("posthouse log %s", r.Thread)
	return nil
}
