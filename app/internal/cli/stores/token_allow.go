package stores

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// limitFlags are those that say what a worker's token may take.
func limitFlags(cmd *cobra.Command, groups, tasks *[]string) {
	cmd.Flags().StringArrayVar(groups, "group", nil, "of a worker: a group whose tasks it may take, beside those of no group; repeat for more, * is all")
	cmd.Flags().StringArrayVar(tasks, "task", nil, "of a worker: a task that it may take; repeat for more (default: of any name)")
}

func tokenAllow(e *env.Env) *cobra.Command {
	var groups, tasks []string
	cmd := &cobra.Command{
		Use: "allow NAME", Short: "Say which groups and tasks a worker's token may take",
		Long: `Say which groups and tasks a worker's token may take, in the place of those
that it named before. Its secret stays, and servers that run hold workers to it at once.
Without --group it takes tasks of no group only, without --task those of any name.`,
		Example: `  posthouse token allow gpu-1 --group gpu
  posthouse token allow cashier --group payments --task pay --task refund`,
		RunE: func(_ *cobra.Command, args []string) error {
			ts, err := openTokens(e)
			if err != nil {
				return err
			}
			if err := ts.Allow(args[0], groups, tasks); err != nil {
				return err
			}
			return e.Answer(map[string]any{"name": args[0], "groups": groups, "tasks": tasks}, func() {
				names := "any name"
				if len(tasks) > 0 {
					names = strings.Join(tasks, ", ")
				}
				e.Line("%s takes tasks of %s, for %s", args[0], names, strings.Join(append([]string{"no group"}, groups...), ", "))
			})
		},
	}
	limitFlags(cmd, &groups, &tasks)
	return cmd
}
