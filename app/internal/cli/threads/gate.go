package threads

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/tree"
)

// Gate returns the command gate, with what is below it.
func Gate(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "gate", Aliases: []string{"gates"}, Short: "Show a gate before it is decided",
		Example: `  posthouse gate show gate-019a...`,
	}, gateShow(e))
}

func gateShow(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show [GATE]", Short: "Show what a gate asks: its text and its content",
		Long: `Show what a gate asks: its text and its content, as an approval licenses it.

GATE is a gate's id, or that of an approval (apr_...) that a tool waits for on its
caller's connection. Without one, a person at a terminal picks from the inbox. A character that people do not see, or that reorders what they
see, is shown as ‹U+202E› in text and as \u202e in JSON, and a line warns of it. Each
line of the text and the content begins with a bar: none passes for one of the
command's. What ran under a decision is shown by posthouse grant.`,
		Example: `  posthouse gate show gate-019a...
  posthouse gate show gate-019a... --json | jq .payload`,
		RunE: e.Online(func(ctx context.Context, c *rest.Client, args []string) error {
			id, err := given(ctx, e, c, args)
			if err != nil {
				return err
			}
			q, err := readQuestion(ctx, c, id)
			if err != nil {
				return err
			}
			return e.Answer(&q.gate, func() {
				q.show(&e.Term)
				switch {
				case q.gate.Decision != nil:
					e.Line("\n%s", tree.Decision(q.gate.Decision))
					e.Next("posthouse grant %s", q.gate.ID)
				case q.gate.AsksPeople() || isApproval(string(q.gate.ID)):
					e.Next("posthouse approve %s", q.gate.ID)
				}
			})
		}),
	}
}
