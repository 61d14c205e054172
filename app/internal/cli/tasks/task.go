package tasks

import (
	"context"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/task"
)

// Task returns the command task, with those below it.
func Task(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:   "task",
		Short: "Show and change what workers are to do",
		Long: `Show and change what workers are to do.

A task is named by its gate. Each attempt, pause and iteration has a gate of its
own, so the name changes as the task goes on.`,
		Example: `  posthouse task start transcribe '{"video": 7}' --wait
  posthouse task list --failed
  posthouse task retry gate-019a...`,
	}, taskStart(e), taskList(e), taskShow(e), taskSlot(e), taskClear(e), taskPause(e),
		taskResume(e), taskRetry(e), taskPurge(e), taskDead(e))
}

func taskList(e *env.Env) *cobra.Command {
	var thread, name string
	var limit int
	var failed bool
	cmd := &cobra.Command{
		Use: "list", Short: "List open tasks, newest first, or failed ones",
		Long: `List open tasks, newest first, or failed ones.

"ready, no worker" is a task whose handler no worker has, of its group if it has
one: it waits for one that does. With --failed it lists those that failed for good, by thread, as long as their
threads wait for somebody to retry them.`,
		Example: `  posthouse task list --task transcribe
  posthouse task list --failed
  posthouse task list --json | jq -r '.[] | select(.state == "paused") | .id'`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			table := env.Table[*client.Task]{
				None: "no task is open",
				Head: []string{"TASK", "HANDLER", "STATE", "SINCE", "ATTEMPT", "WORKER", "THREAD"},
				Row:  taskRow,
			}
			if failed {
				table.None = "no task has failed"
			}
			of, err := e.FindThread(ctx, c, thread)
			if err != nil {
				return err
			}
			q := &client.TaskQuery{Thread: of, Task: name, Failed: failed, Limit: env.OneMore(limit)}
			tasks, more, err := env.Cut(c.Operations().Tasks(ctx, q), limit)
			if err != nil {
				return err
			}
			if err := table.Print(e, tasks, more); err != nil {
				return err
			}
			if failed && len(tasks) > 0 {
				e.Next("posthouse task show %s", tasks[0].ID)
			}
			return env.Unread(&e.Term, tasks, func(t *client.Task) *problem.Details { return env.ProblemOf(t.Error) })
		}),
	}
	cmd.Flags().StringVar(&thread, "thread", "", "only of this thread")
	cmd.Flags().StringVar(&name, "task", "", "only of this handler")
	cmd.Flags().BoolVar(&failed, "failed", false, "those that failed for good")
	e.LimitFlag(cmd, &limit)
	return cmd
}

func taskRow(t *client.Task) []string {
	if p := env.ProblemOf(t.Error); p != nil {
		return []string{string(t.ID), env.CannotBeRead(p), "", "", "", "", t.Thread}
	}
	state := t.State
	if t.State == delayed || t.State == paused {
		state += " until " + tree.Time(t.Call.NotBefore)
	}
	if t.State == ready && t.Handlers == 0 {
		state += ", no worker"
	}
	return []string{string(t.ID), t.Call.Task, state, tree.Time(t.CreatedAt), strconv.Itoa(t.Call.Attempt), t.Worker, t.Thread}
}

// The states of a task that are shown in words of their own.
const (
	ready   = string(task.Ready)
	delayed = string(task.Delayed)
	paused  = string(task.Paused)
	failed  = string(task.Failed)
)

func taskShow(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Show a task, open or not",
		Example: `  posthouse task show gate-019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Operations().Task(ctx, posthouse.ID(args[0]))
			return env.Show(e, t, err, func(t *client.Task) { showTask(e, t) })
		}),
	}
}

func showTask(e *env.Env, i *client.Task) {
	rows := [][]string{
		{"task", string(i.ID)}, {"handler", i.Call.Task}, {"group", i.Call.Group}, {"state", taskRow(i)[2]},
		{"thread", i.Thread}, {"branch", i.Branch}, {"step", i.Step},
		{"attempt", strconv.Itoa(i.Call.Attempt)}, {"iteration", strconv.Itoa(i.Call.Iteration)}, {"paused", i.Call.Paused}, {"failure", failureOf(i)},
		{"worker", i.Worker}, {"session", i.Session}, {"slot", term.Number(i.Saved) + " bytes"},
		{"since", tree.Time(i.CreatedAt)}, {"expires", tree.Time(i.ExpiresAt)}, {"input", term.Clip(term.Visible(string(i.Input)), 200)},
	}
	for _, row := range rows {
		if row[1] != "" {
			e.Line("%-10s %s", row[0], term.Clip(term.Visible(row[1]), 400))
		}
	}
	switch d := i.Decision; {
	case d != nil && d.Successor != "":
		e.Next("posthouse task show %s", d.Successor)
	case i.State == failed:
		e.Next("posthouse task retry %s", i.ID)
	}
}

// failureOf returns why a task failed for good, or why its last attempt did.
func failureOf(i *client.Task) string {
	if i.State == failed && i.Decision.Reason != "" {
		return i.Decision.Reason
	}
	return i.Call.Failure
}

func taskSlot(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "slot TASK", Short: "Print what handlers keep between a task's attempts",
		Long: `Print what handlers keep between a task's attempts.

Without --json it is printed as it is, if it is text, and its length otherwise.`,
		Example: `  posthouse task slot gate-019a...
  posthouse task slot gate-019a... --json | jq -r .value | base64 -d`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			s, err := c.Operations().TaskSlot(ctx, posthouse.ID(args[0]))
			return env.Show(e, s, err, func(s *client.TaskSlot) {
				switch {
				case !s.Saved:
					e.Line("nothing is saved")
				case utf8.Valid(s.Value):
					e.Line("%s", term.Visible(string(s.Value)))
				default:
					e.Line("%s bytes that are not text: --json has them", term.Number(len(s.Value)))
				}
			})
		}),
	}
}

func taskClear(e *env.Env) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "clear TASK", Short: "Clear a task's slot: the next attempt begins from nothing",
		Example: `  posthouse task clear gate-019a... --yes`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if dry {
				return wouldClear(ctx, e, c, args[0])
			}
			if ok, err := e.Confirm(yes, "clear what task %s has saved?", args[0]); err != nil || !ok {
				return err
			}
			if err := c.Operations().ClearTaskSlot(ctx, posthouse.ID(args[0])); err != nil {
				return err
			}
			return e.Answer(map[string]any{"task": args[0], "saved": false}, func() { e.Line("nothing is saved for task %s", args[0]) })
		}),
	}
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

func taskResume(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "resume TASK", Short: "Have a task go on now that is paused, or waits for its next attempt",
		Example: `  posthouse task resume gate-019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Operations().ResumeTask(ctx, posthouse.ID(args[0]))
			return env.Show(e, t, err, func(i *client.Task) {
				e.Line("task %s goes on as %s", args[0], i.ID)
			})
		}),
	}
}

func taskPause(e *env.Env) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "pause TASK", Short: "Keep a task from workers until its time is over, or it is resumed",
		Example: `  posthouse task pause gate-019a... --for 2h`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Operations().PauseTask(ctx, posthouse.ID(args[0]), wait)
			return env.Show(e, t, err, func(i *client.Task) {
				e.Line("task %s waits until %s as %s", args[0], tree.Time(i.Call.NotBefore), i.ID)
				e.Next("posthouse task resume %s", i.ID)
			})
		}),
	}
	cmd.Flags().DurationVar(&wait, "for", time.Hour, "how long")
	return cmd
}

func taskRetry(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "retry TASK", Short: "Hand a failed task out again, with what its handlers saved",
		Long: `Hand a failed task out again, with what its handlers saved.

It has all its attempts again. Its thread goes on where it failed; if it has gone
on since, the task runs on a new branch.`,
		Example: `  posthouse task list --failed
  posthouse task retry gate-019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Operations().RetryTask(ctx, posthouse.ID(args[0]))
			return env.Show(e, t, err, func(i *client.Task) {
				e.Line("task %s goes on as %s, on branch %s of thread %s", args[0], i.ID, i.Branch, i.Thread)
			})
		}),
	}
}

func taskPurge(e *env.Env) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "purge TASK", Short: "Give a failed task up: clear its slot, and cancel what failed with it",
		Example: `  posthouse task purge gate-019a... --yes`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if dry {
				return wouldGiveUp(ctx, e, c, args[0])
			}
			if ok, err := e.Confirm(yes, "give task %s up, and cancel the branch that failed with it?", args[0]); err != nil || !ok {
				return err
			}
			if err := c.Operations().GiveUpTask(ctx, posthouse.ID(args[0])); err != nil {
				return err
			}
			return e.Answer(map[string]any{"task": args[0], "purged": true}, func() { e.Line("task %s is given up", args[0]) })
		}),
	}
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	return cmd
}
