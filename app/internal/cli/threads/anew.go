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
	var run, dry, keep, yes bool
	cmd := &cobra.Command{
		Use:   "anew THREAD|CHECKPOINT",
		Short: "Begin a branch's unfinished step anew",
		Long: `Begin a branch's unfinished step anew, without the results it recorded so far.

It is for a program that goes another way than the one on record: a question was
asked again and answered otherwise, say, and the step fails for that. Effects of
class external and people's answers stay: they are listed, and nobody does them
twice. A call that failed is made again: what the program did because of the failure
is listed, and stays done. If an effect that stays is among that, as a refund,
--keep-done agrees to it. Questions that were open are asked again. Give a thread, or the checkpoint
at the head of a branch. Exit code 4 if nothing is unfinished there.`,
		Example: `  posthouse anew order-1234
  posthouse anew order-1234 --dry-run
  posthouse anew order-1234 --branch what-if --run`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := headOf(ctx, c, args[0], branch)
			if err != nil {
				return err
			}
			path, body := "/api/checkpoints"+client.Path(id, "anew"), map[string]bool{"keepDone": keep}
			var began server.Anew
			if dry || !yes {
				if err := c.Do(ctx, http.MethodPost, path, env.Params("dryRun", "true"), body, &began); err != nil {
					return err
				}
			}
			if dry {
				return e.Answer(&began, func() {
					listAnew(e, &began)
					e.Line("\nnothing was begun anew: leave --dry-run out")
				})
			}
			if len(began.Stands) > 0 {
				for _, line := range standing(began.Stands) {
					e.Note("%s", line)
				}
				if ok, err := e.Confirm(yes, "begin anew, and make what failed again?"); err != nil || !ok {
					return err
				}
			}
			if err := c.Do(ctx, http.MethodPost, path, nil, body, &began); err != nil {
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
	env.DryRunFlag(cmd, &dry)
	env.YesFlag(cmd, &yes)
	cmd.Flags().BoolVar(&keep, "keep-done", false, "agree that a call which failed is made again although an effect that was done because of it stays done")
	cmd.Flags().BoolVar(&run, "run", false, "resume it at once")
	return cmd
}

func printAnew(e *env.Env, began *server.Anew) error {
	return e.Answer(began, func() {
		h := began.Checkpoint
		e.Fields("checkpoint", string(h.ID), "thread", h.Thread, "branch", h.Branch, "status", string(h.Status))
		listAnew(e, began)
		e.Next("posthouse resume %s", h.ID)
	})
}

// listAnew prints what became of the results, or would.
func listAnew(e *env.Env, began *server.Anew) {
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
	listed(e, "failed, and is made again", standing(began.Stands))
}
