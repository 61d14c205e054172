package tasks

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

func taskDead(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "dead", Short: "Show and take out messages about tasks that nobody could use",
		Long: `Show and take out messages about tasks that nobody could use.

Over NATS, a request of a worker or a hint of an engine that does not parse or is too
large is a dead letter. No task is lost with it. A task that failed for good is no
letter: posthouse task list --failed has those.`,
		Example: `  posthouse task dead list
  posthouse task dead replay 17
  posthouse task dead purge --yes`,
	}, deadList(e), deadReplay(e), deadPurge(e))
}

func deadList(e *env.Env) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, newest first, with the reason",
		Example: `  posthouse task dead list
  posthouse task dead list --json | jq -r '.[0].data' | base64 -d`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Operations().DeadLetters(ctx, limit)
			if err != nil {
				return err
			}
			return letterTable.Print(e, all, false)
		}),
	}
	e.QuietFlag(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "how many, 1 to 1,000")
	return cmd
}

var letterTable = env.Table[*client.DeadLetter]{
	None: "there is no dead letter",
	Head: []string{"LETTER", "KIND", "AT", "BYTES", "REASON", "SUBJECT"},
	Row: func(l *client.DeadLetter) []string {
		return []string{l.ID, l.Kind, tree.Time(l.At), term.Number(l.Size), term.Clip(term.Visible(l.Reason), 80), term.Clip(term.Visible(l.Subject), 80)}
	},
}

func deadReplay(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "replay LETTER", Short: "Send a hint to its queue again, and take the letter out",
		Long: `Send a hint to its queue again, and take the letter out.

That is for one which an engine of another release could not read. A request of a
worker is not sent again: the worker was answered.`,
		Example: `  posthouse task dead replay 17`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Operations().ReplayDeadLetter(ctx, args[0]); err != nil {
				return err
			}
			return e.Answer(map[string]any{"letter": args[0], "replayed": true}, func() { e.Line("letter %s is sent again", args[0]) })
		}),
	}
}

func deadPurge(e *env.Env) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "purge [LETTER]", Short: "Take a dead letter out, or all of them",
		Example: `  posthouse task dead purge 17 --yes
  posthouse task dead purge --yes`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if dry {
				return wouldPurge(ctx, e, c, args)
			}
			if len(args) == 1 {
				if ok, err := e.Confirm(yes, "take dead letter %s out?", args[0]); err != nil || !ok {
					return err
				}
				if err := c.Operations().RemoveDeadLetter(ctx, args[0]); err != nil {
					return err
				}
				return e.Answer(map[string]any{"letter": args[0], "purged": 1}, func() { e.Line("letter %s is gone", args[0]) })
			}
			if ok, err := e.Confirm(yes, "take all dead letters out?"); err != nil || !ok {
				return err
			}
			n, err := c.Operations().PurgeDeadLetters(ctx)
			if err != nil {
				return err
			}
			return e.Answer(map[string]any{"purged": n}, func() { e.Line("%s letters are gone", term.Number(n)) })
		}),
	}
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

// mostLetters is how many dead letters one answer lists.
const mostLetters = 1000

// wouldPurge says which letters would be taken out.
func wouldPurge(ctx context.Context, e *env.Env, c *client.Client, args []string) error {
	all, err := c.Operations().DeadLetters(ctx, mostLetters)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, l := range all {
		if len(args) == 0 || l.ID == args[0] {
			ids = append(ids, l.ID)
		}
	}
	if len(args) == 1 && len(ids) == 0 {
		return &posthouse.Error{Code: posthouse.CodeNotFound, Message: "there is no dead letter " + args[0], Hint: "posthouse task dead list shows them"}
	}
	return e.Answer(map[string]any{"dryRun": true, "letters": ids}, func() {
		more := ""
		if len(all) == mostLetters {
			more = " or more"
		}
		e.Line("would be taken out: %s%s", term.Count(len(ids), "letter"), more)
		e.Line("nothing was taken out: leave --dry-run out")
	})
}
