package cli

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
)

func (a *app) taskCmd() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "task",
		Short: "Show and change what workers are to do",
		Long: `Show and change what workers are to do.

A task is named by its gate. Each attempt, pause and iteration has a gate of its
own, so the name changes as the task goes on.`,
		Example: `  posthouse task start transcribe '{"video": 7}' --wait
  posthouse task list --failed
  posthouse task retry gate-019a...`,
	}, a.taskStart(), a.taskList(), a.taskShow(), a.taskSlot(), a.taskClear(), a.taskPause(), a.taskResume(), a.taskRetry(), a.taskPurge(), a.taskDead())
}

func (a *app) taskList() *cobra.Command {
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
		RunE: a.online(func(ctx context.Context, c *rest.Client, _ []string) error {
			none := "no task is open"
			if failed {
				none = "no task has failed"
			}
			head := []string{"TASK", "HANDLER", "STATE", "SINCE", "ATTEMPT", "WORKER", "THREAD"}
			tasks, err := list(ctx, a, c, "/api/tasks", params("thread", thread, "task", name, "failed", ifSet(failed)), limit, none, head, taskRow)
			if err != nil {
				return err
			}
			if failed && len(tasks) > 0 {
				a.next("posthouse task show %s", tasks[0].ID)
			}
			return unreadIn(a, tasks, func(t server.Task) *problem.Details { return t.Error })
		}),
	}
	cmd.Flags().StringVar(&thread, "thread", "", "only of this thread")
	cmd.Flags().StringVar(&name, "task", "", "only of this handler")
	cmd.Flags().BoolVar(&failed, "failed", false, "those that failed for good")
	limitFlag(cmd, &limit)
	return cmd
}

func taskRow(t server.Task) []string {
	if t.Error != nil {
		return []string{string(t.ID), cannotBeRead(t.Error), "", "", "", "", t.Thread}
	}
	state := string(t.State)
	if t.State == task.Delayed || t.State == task.Paused {
		state += " until " + tree.Time(t.Call.NotBefore)
	}
	if t.State == task.Ready && t.Handlers == 0 {
		state += ", no worker"
	}
	return []string{string(t.ID), t.Call.Task, state, tree.Time(t.CreatedAt), strconv.Itoa(t.Call.Attempt), t.Worker, t.Thread}
}

func taskPath(gate string, below ...string) string {
	return rest.Path(append([]string{"api", "tasks", gate}, below...)...)
}

func (a *app) taskShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Show a task, open or not",
		Example: `  posthouse task show gate-019a...`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return get(ctx, a, c, taskPath(args[0]), nil, a.showTask)
		}),
	}
}

func (a *app) showTask(i *task.Info) {
	rows := [][]string{
		{"task", string(i.ID)}, {"handler", i.Call.Task}, {"group", i.Call.Group}, {"state", taskRow(server.Task{Info: *i})[2]},
		{"thread", i.Thread}, {"branch", i.Branch}, {"step", i.Step},
		{"attempt", strconv.Itoa(i.Call.Attempt)}, {"iteration", strconv.Itoa(i.Call.Iteration)}, {"paused", i.Call.Paused}, {"failure", failureOf(i)},
		{"worker", i.Worker}, {"session", i.Session}, {"slot", number(i.Saved) + " bytes"},
		{"since", tree.Time(i.CreatedAt)}, {"expires", tree.Time(i.ExpiresAt)}, {"input", term.Clip(term.Visible(string(i.Input)), 200)},
	}
	for _, row := range rows {
		if row[1] != "" {
			a.Line("%-10s %s", row[0], term.Clip(term.Visible(row[1]), 400))
		}
	}
	switch d := i.Decision; {
	case d != nil && d.Successor != "":
		a.next("posthouse task show %s", d.Successor)
	case i.State == task.Failed:
		a.next("posthouse task retry %s", i.ID)
	}
}

// failureOf returns why a task failed for good, or why its last attempt did.
func failureOf(i *task.Info) string {
	if i.State == task.Failed && i.Decision.Reason != "" {
		return i.Decision.Reason
	}
	return i.Call.Failure
}

func (a *app) taskSlot() *cobra.Command {
	return &cobra.Command{
		Use: "slot TASK", Short: "Print what handlers keep between a task's attempts",
		Long: `Print what handlers keep between a task's attempts.

Without --json it is printed as it is, if it is text, and its length otherwise.`,
		Example: `  posthouse task slot gate-019a...
  posthouse task slot gate-019a... --json | jq -r .value | base64 -d`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return get(ctx, a, c, taskPath(args[0], "slot"), nil, func(s *server.TaskSlot) {
				switch {
				case !s.Saved:
					a.Line("nothing is saved")
				case utf8.Valid(s.Value):
					a.Line("%s", term.Visible(string(s.Value)))
				default:
					a.Line("%s bytes that are not text: --json has them", number(len(s.Value)))
				}
			})
		}),
	}
}

func (a *app) taskClear() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "clear TASK", Short: "Clear a task's slot: the next attempt begins from nothing",
		Example: `  posthouse task clear gate-019a... --yes`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			if ok, err := a.Confirm(yes, "clear what task %s has saved?", args[0]); err != nil || !ok {
				return err
			}
			if err := c.Do(ctx, http.MethodDelete, taskPath(args[0], "slot"), nil, nil, nil); err != nil {
				return err
			}
			return a.answer(map[string]any{"task": args[0], "saved": false}, func() { a.Line("nothing is saved for task %s", args[0]) })
		}),
	}
	yesFlag(cmd, &yes)
	return cmd
}

func (a *app) taskResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume TASK", Short: "Have a task go on now that is paused, or waits for its next attempt",
		Example: `  posthouse task resume gate-019a...`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return ask(ctx, a, c, http.MethodPost, taskPath(args[0], "resume"), url.Values{}, nil, func(i *task.Info) {
				a.Line("task %s goes on as %s", args[0], i.ID)
			})
		}),
	}
}

func (a *app) taskPause() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "pause TASK", Short: "Keep a task from workers until its time is over, or it is resumed",
		Example: `  posthouse task pause gate-019a... --for 2h`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			body := map[string]time.Duration{"for": wait}
			return ask(ctx, a, c, http.MethodPost, taskPath(args[0], "pause"), nil, body, func(i *task.Info) {
				a.Line("task %s waits until %s as %s", args[0], tree.Time(i.Call.NotBefore), i.ID)
				a.next("posthouse task resume %s", i.ID)
			})
		}),
	}
	cmd.Flags().DurationVar(&wait, "for", time.Hour, "how long")
	return cmd
}

func (a *app) taskRetry() *cobra.Command {
	return &cobra.Command{
		Use: "retry TASK", Short: "Hand a failed task out again, with what its handlers saved",
		Long: `Hand a failed task out again, with what its handlers saved.

It has all its attempts again. Its thread goes on where it failed; if it has gone
on since, the task runs on a new branch.`,
		Example: `  posthouse task list --failed
  posthouse task retry gate-019a...`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return ask(ctx, a, c, http.MethodPost, taskPath(args[0], "retry"), nil, nil, func(i *task.Info) {
				a.Line("task %s goes on as %s, on branch %s of thread %s", args[0], i.ID, i.Branch, i.Thread)
			})
		}),
	}
}

func (a *app) taskPurge() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "purge TASK", Short: "Give a failed task up: clear its slot, and cancel what failed with it",
		Example: `  posthouse task purge gate-019a... --yes`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			if ok, err := a.Confirm(yes, "give task %s up, and cancel the branch that failed with it?", args[0]); err != nil || !ok {
				return err
			}
			if err := c.Do(ctx, http.MethodDelete, taskPath(args[0]), nil, nil, nil); err != nil {
				return err
			}
			return a.answer(map[string]any{"task": args[0], "purged": true}, func() { a.Line("task %s is given up", args[0]) })
		}),
	}
	yesFlag(cmd, &yes)
	return cmd
}

func (a *app) taskDead() *cobra.Command {
	return parent(&cobra.Command{
		Use: "dead", Short: "Show and take out messages about tasks that nobody could use",
		Long: `Show and take out messages about tasks that nobody could use.

Over NATS, a request of a worker or a hint of an engine that does not parse or is too
large is a dead letter. No task is lost with it. A task that failed for good is no
letter: posthouse task list --failed has those.`,
		Example: `  posthouse task dead list
  posthouse task dead replay 17
  posthouse task dead purge --yes`,
	}, a.deadList(), a.deadReplay(), a.deadPurge())
}

func letterPath(below ...string) string {
	return rest.Path(append([]string{"api", "dead-letters"}, below...)...)
}

func (a *app) deadList() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, newest first, with the reason",
		Example: `  posthouse task dead list
  posthouse task dead list --json | jq -r '.[0].data' | base64 -d`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, _ []string) error {
			return get(ctx, a, c, letterPath(), params("limit", strconv.Itoa(limit)), func(all *[]deadletter.Letter) {
				if len(*all) == 0 {
					a.Line("there is no dead letter")
					return
				}
				var rows [][]string
				for _, l := range *all {
					rows = append(rows, []string{l.ID, string(l.Kind), tree.Time(l.At), number(l.Size), term.Clip(term.Visible(l.Reason), 80), term.Clip(term.Visible(l.Subject), 80)})
				}
				a.Table([]string{"LETTER", "KIND", "AT", "BYTES", "REASON", "SUBJECT"}, rows)
			})
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many, 1 to 1,000")
	return cmd
}

func (a *app) deadReplay() *cobra.Command {
	return &cobra.Command{
		Use: "replay LETTER", Short: "Send a hint to its queue again, and take the letter out",
		Long: `Send a hint to its queue again, and take the letter out.

That is for one which an engine of another release could not read. A request of a
worker is not sent again: the worker was answered.`,
		Example: `  posthouse task dead replay 17`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			if err := c.Do(ctx, http.MethodPost, letterPath(args[0], "replay"), nil, nil, nil); err != nil {
				return err
			}
			return a.answer(map[string]any{"letter": args[0], "replayed": true}, func() { a.Line("letter %s is sent again", args[0]) })
		}),
	}
}

func (a *app) deadPurge() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "purge [LETTER]", Short: "Take a dead letter out, or all of them",
		Example: `  posthouse task dead purge 17 --yes
  posthouse task dead purge --yes`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			if len(args) == 1 {
				if ok, err := a.Confirm(yes, "take dead letter %s out?", args[0]); err != nil || !ok {
					return err
				}
				if err := c.Do(ctx, http.MethodDelete, letterPath(args[0]), nil, nil, nil); err != nil {
					return err
				}
				return a.answer(map[string]any{"letter": args[0], "purged": 1}, func() { a.Line("letter %s is gone", args[0]) })
			}
			if ok, err := a.Confirm(yes, "take all dead letters out?"); err != nil || !ok {
				return err
			}
			var done server.Purged
			if err := c.Do(ctx, http.MethodDelete, letterPath(), nil, nil, &done); err != nil {
				return err
			}
			return a.answer(done, func() { a.Line("%s letters are gone", number(done.Purged)) })
		}),
	}
	yesFlag(cmd, &yes)
	return cmd
}
