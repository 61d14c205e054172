package threads

import (
	"context"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// Anew returns the command that restarts a step.
func Anew(e *env.Env) *cobra.Command {
	var branch string
	var run bool
	cmd := &cobra.Command{
		Use:   "anew THREAD|CHECKPOINT",
		Short: "Begin a branch's unfinished step anew",
		Long: `Begin a branch's unfinished step anew, without the results it recorded so far.

It is for a program that goes another way than the one on record: a question was
asked again and answered otherwise, say, and the step fails for that. Effects of
class external and people's answers stay: they are listed, and nobody does them
twice. Questions that were open are asked again. Give a thread, or the checkpoint
at the head of a branch. Exit code 4 if nothing is unfinished there.`,
		Example: `  posthouse anew order-1234
  posthouse anew order-1234 --branch what-if --run`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := headOf(ctx, c, args[0], branch)
			if err != nil {
				return err
			}
			var began server.Anew
			if err := c.Do(ctx, http.MethodPost, "/api/checkpoints"+client.Path(id, "anew"), nil, nil, &began); err != nil {
				return err
			}
			if !run || !e.Structured() {
				if err := printAnew(e, &began); err != nil || !run {
					return err
				}
			}
			return start(ctx, e, c, startPath(string(began.Checkpoint.ID), "resume"), nil)
		}),
	}
	branchFlag(cmd, &branch)
	cmd.Flags().BoolVar(&run, "run", false, "resume it at once")
	return cmd
}

func printAnew(e *env.Env, began *server.Anew) error {
	return e.Answer(began, func() {
		h := &began.Checkpoint
		e.Fields("checkpoint", string(h.ID), "thread", h.Thread, "branch", h.Branch, "status", string(h.Status))
		var rows [][]string
		list := func(what string, rs []server.Result) {
			for _, r := range rs {
				name := r.Name
				if r.Occurrence > 0 {
					name += "[" + strconv.Itoa(int(r.Occurrence)) + "]"
				}
				rows = append(rows, []string{what, name, r.Task, r.Effect, string(r.Grant)})
			}
		}
		list("kept", began.Kept)
		list("dropped", began.Dropped)
		if len(rows) > 0 {
			e.Table([]string{"RESULT", "STEP", "TASK", "EFFECT", "GRANT"}, rows)
		}
		e.Next("posthouse resume %s", h.ID)
	})
}
