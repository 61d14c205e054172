package threads

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// A bulk is the flags of one command about many threads.
type bulk struct {
	verb                            client.Verb
	done                            string
	status, program, prefix, reason string
	dry, yes                        bool
}

// threadBulk returns the command thread bulk, with those below it.
func threadBulk(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "bulk", Short: "Resume, cancel or release all threads of a filter",
		Example: `  posthouse thread bulk resume --status failed --program refund --dry-run
  posthouse thread bulk cancel --prefix tenant/42/ --reason "the tenant has left"`,
	},
		bulkCommand(e, &bulk{verb: client.BulkResume, done: "resumed"}, "Resume threads that are interrupted or failed"),
		bulkCommand(e, &bulk{verb: client.BulkCancel, done: "cancelled"}, "Cancel threads that have not ended"),
		bulkCommand(e, &bulk{verb: client.BulkRelease, done: "released"}, "Close threads as versions"))
}

func bulkCommand(e *env.Env, b *bulk, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: string(b.verb), Short: short,
		Long: short + `.

At least one of --status, --program and --prefix says which. A failure about one
thread is reported and stops no other.`,
		Example: "  posthouse thread bulk " + string(b.verb) + " --prefix order- --dry-run",
		RunE:    e.Online(func(ctx context.Context, c *client.Client, _ []string) error { return b.run(ctx, e, c) }),
	}
	f := cmd.Flags()
	f.StringVar(&b.status, "status", "", "only threads with this status")
	f.StringVar(&b.program, "program", "", "only threads of this program")
	f.StringVar(&b.prefix, "prefix", "", "only threads with a name that starts so")
	if b.verb != client.BulkResume {
		env.ReasonFlag(cmd, &b.reason)
	}
	env.DryRunFlag(cmd, &b.dry)
	env.YesFlag(cmd, &b.yes)
	return cmd
}

func (b *bulk) run(ctx context.Context, e *env.Env, c *client.Client) error {
	if !b.dry {
		if ok, err := e.Confirm(b.yes, "%s all threads of this filter?", b.verb); err != nil || !ok {
			return err
		}
	}
	all, err := c.Operations().Bulk(ctx, b.verb, &client.BulkQuery{
		Status: posthouse.Status(b.status), Program: b.program, Prefix: b.prefix, Reason: b.reason, DryRun: b.dry,
	})
	if err != nil {
		return err
	}
	err = e.Answer(all, func() { b.show(e, all) })
	if err == nil && all.Failed > 0 {
		return env.Exit(posthouse.ExitFailure)
	}
	return err
}

func (b *bulk) show(e *env.Env, r *client.BulkReport) {
	var rows [][]string
	for _, item := range r.Items {
		became := strings.Join(item.Branches, ", ")
		if err := item.Err(); err != nil {
			became = err.Error()
		} else if became == "" && len(item.Stands) == 0 {
			became = "nothing to do"
		}
		if len(item.Stands) > 0 {
			became = strings.TrimPrefix(became+"; passed over ", "; ") + strings.Join(item.Stands, "; ")
		}
		rows = append(rows, []string{item.Thread, string(item.Status), became})
	}
	e.Table([]string{"THREAD", "STATUS", "BRANCHES"}, rows)
	if r.DryRun {
		e.Line("%s would be %s: leave --dry-run out", term.Count(r.Done, "thread"), b.done)
		return
	}
	e.Line("%s %s, %d failed", term.Count(r.Done, "thread"), b.done, r.Failed)
}
