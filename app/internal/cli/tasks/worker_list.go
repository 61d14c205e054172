package tasks

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// workerList lists the workers of a server, and of others over its store.
func workerList(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List workers, of all servers over one store",
		Long: `List workers, of all servers over one store.

What workers of other servers do at the moment is those servers' to say, so that
is "? of 4" here. A worker that is silent is gone, or its server is; others take
its tasks.`,
		Example: `  posthouse worker list`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			workers, err := c.Operations().Workers(ctx)
			if err != nil {
				return err
			}
			return workerTable.Print(e, workers, false)
		}),
	}
	e.QuietFlag(cmd)
	return cmd
}

var workerTable = env.Table[*client.Worker]{
	None: "no worker is connected",
	Head: []string{"WORKER", "TOKEN", "GROUP", "HANDLERS", "TASKS", "HEARD", "SERVER", "SESSION"},
	Row: func(w *client.Worker) []string {
		busy, heard := "?", tree.Time(w.Heard)
		if w.Here {
			busy = strconv.Itoa(len(w.Claims))
		}
		if w.Silent {
			heard += ", silent"
		}
		return []string{
			w.Worker, w.Token, w.Group, term.Clip(strings.Join(w.Tasks, ", "), 60), busy + " of " + strconv.Itoa(w.Concurrency), heard, w.Engine, w.Session,
		}
	},
}
