package threads

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
)

// Replay returns the command replay.
func Replay(e *env.Env) *cobra.Command {
	var branch, thread string
	cmd := &cobra.Command{
		Use:   "replay CHECKPOINT|GATE",
		Short: "Run again from a checkpoint, in a fork",
		Long: `Run again from a checkpoint, in a fork.

Give a checkpoint, or a gate that it asked. History is not changed: what runs
again does so in a new branch, or with --thread in a new thread. Gates that waited
there wait again, under new ids.`,
		Example: `  posthouse replay 019a...
  posthouse replay 019a... --branch second-try`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			return start(ctx, e, c, startPath(args[0], "replay"), env.Members("branch", branch, "thread", thread))
		}),
	}
	cmd.Flags().StringVar(&branch, "branch", "", "name of the new branch (default fork-1, fork-2, ...)")
	cmd.Flags().StringVar(&thread, "thread", "", "replay in this new thread instead")
	return cmd
}
