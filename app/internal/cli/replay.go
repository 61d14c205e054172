package cli

import (
	"net/http"

	"github.com/spf13/cobra"
)

func (a *app) replayCmd() *cobra.Command {
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
		Args: args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var answer followed
			err = c.Do(cmd.Context(), http.MethodPost, startPath(args[0], "replay"), nil,
				namedFork(branch, thread), &answer)
			if err != nil {
				return err
			}
			return a.follow(&answer)
		},
	}
	cmd.Flags().StringVar(&branch, "branch", "", "name of the new branch (default fork-1, fork-2, ...)")
	cmd.Flags().StringVar(&thread, "thread", "", "replay in this new thread instead")
	return cmd
}

// namedFork is where a fork goes, as the server reads it.
func namedFork(branch, thread string) map[string]any {
	body := map[string]any{}
	if branch != "" {
		body["branch"] = branch
	}
	if thread != "" {
		body["thread"] = thread
	}
	return body
}
