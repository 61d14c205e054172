package threads

import (
	"cmp"
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
)

// Checkpoint returns the command checkpoint, with those below it.
func Checkpoint(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:     "checkpoint",
		Aliases: []string{"checkpoints", "cp"},
		Short:   "List, show, fork and delete checkpoints",
		Example: `  posthouse checkpoint list --coordination dispatch
  posthouse checkpoint show 019a...`,
	}, checkpointList(e), checkpointShow(e), checkpointFork(e), checkpointDelete(e))
}

func checkpointList(e *env.Env) *cobra.Command {
	filters := []struct{ name, help, value string }{
		{name: "coordination", help: "only of this coordination"}, {name: "thread", help: "only of this thread"},
		{name: "agent", help: "only made by this agent"}, {name: "node", help: "only made by this node"},
		{name: "graph", help: "only of this program"}, {name: "run", help: "only of this run"},
		{name: "branch", help: "only of this branch"}, {name: "kind", help: "only of this kind"},
		{name: "status", help: "only made with this status; waiting: only what is open now"}, {name: "label", help: "only with this label: name=value"},
		{name: "since", help: "only made then or later, as 2026-01-31T12:00:00Z"}, {name: "until", help: "only made then or before"},
		{name: "order", help: "asc: oldest first (default desc: newest first)"},
	}
	var limit int
	var states bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List checkpoints, newest first",
		Example: `  posthouse checkpoint list --coordination dispatch --status waiting
  posthouse checkpoint ls --thread order-1234 --order asc --json --states`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			q := env.Params("state", "false")
			if states {
				q = env.Params()
			}
			for _, f := range filters {
				if f.name == "thread" {
					var err error
					f.value, err = e.FindThread(ctx, c, f.value)
					if err != nil {
						return err
					}
				}
				if f.value != "" {
					q.Set(f.name, f.value)
				}
			}
			cs, err := env.List(ctx, e, c, "/api/checkpoints", q, limit, &checkpointTable)
			if err != nil {
				return err
			}
			return env.Unread(&e.Term, cs, func(c *server.Checkpoint) *problem.Details { return c.Problem })
		}),
	}
	for i := range filters {
		cmd.Flags().StringVar(&filters[i].value, filters[i].name, "", filters[i].help)
	}
	e.LimitFlag(cmd, &limit)
	cmd.Flags().BoolVar(&states, "states", false, "with their states (shown with --json)")
	return cmd
}

var checkpointTable = env.Table[*server.Checkpoint]{
	None: "no checkpoints",
	Head: []string{"CHECKPOINT", "KIND", "AGENT OR NODE", "STATUS", "BRANCH", "SIZE", "MADE", "THREAD"},
	Row: func(c *server.Checkpoint) []string {
		state := term.Size(int64(c.Size))
		if c.Problem != nil {
			state = env.CannotBeRead(c.Problem)
		}
		return []string{string(c.ID), c.Kind, agentOrNode(&c.Header), statusOf(&c.Header), c.Branch, state, tree.Time(c.CreatedAt), c.Thread}
	},
}

func checkpointShow(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show CHECKPOINT", Short: "Show a checkpoint with its state",
		Example: `  posthouse checkpoint show 019a...`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			return env.Get(ctx, e, c, "/api/checkpoints"+client.Path(args[0]), env.Params("steps", "true", "results", "true"), func(cp *server.Checkpoint) { showCheckpoint(&e.Term, cp) })
		}),
	}
}

func checkpointFork(e *env.Env) *cobra.Command {
	var state, patch, branch, thread string
	var run, dry, keep bool
	cmd := &cobra.Command{
		Use: "fork CHECKPOINT", Short: "Start a branch, or a thread, at a checkpoint",
		Long: `Start a branch, or a thread, at a checkpoint.

The state is kept unless --state gives a whole new one or --patch other values of
members that it has. With the same state, gates that wait there wait in the fork too, under new ids.
With another state the fork is interrupted, as one of what could run: once it is
resumed it asks anew, about its own state, and routes and maps of a graph choose the next nodes
again; --keep-next keeps those that the source chose. --run resumes it at once. --dry-run says what
the fork would keep, what would run again, and what it would ask or do again.`,
		Example: `  posthouse checkpoint fork 019a...
  posthouse checkpoint fork 019a... --branch what-if --patch '{"amount": 20}'
  posthouse checkpoint fork 019a... --patch '{"amount": 20}' --run
  posthouse checkpoint fork 019a... --thread order-1234-copy`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := env.Members("branch", branch, "thread", thread)
			for name, v := range map[string]string{"state": state, "patch": patch} {
				if v == "" {
					continue
				}
				data, err := e.ReadJSON(name, v, "see: posthouse checkpoint show "+args[0])
				if err != nil {
					return err
				}
				body[name] = data
			}
			if run {
				body["run"] = true
			}
			if dry {
				body["dryRun"] = true
			}
			if keep {
				body["keepNext"] = true
			}
			return e.Online(func(ctx context.Context, c *client.Client, args []string) error {
				var answer outcome
				if err := c.Do(ctx, http.MethodPost, "/api/checkpoints"+client.Path(args[0], "fork"), nil, body, &answer); err != nil {
					return err
				}
				if dry {
					return e.Answer(answer.Plan, func() { showPlan(e, &answer.Checkpoint) })
				}
				return forked(ctx, e, c, args[0], run, &answer)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&state, "state", "", "the whole new state, JSON; - reads standard input, @FILE a file")
	f.StringVar(&patch, "patch", "", "members to replace, a JSON object; - and @FILE as above")
	f.StringVar(&branch, "branch", "", "name of the new branch (default fork-1, fork-2, ...)")
	f.StringVar(&thread, "thread", "", "fork into this new thread instead")
	f.BoolVar(&keep, "keep-next", false, "with another state: keep the next nodes that the source chose")
	f.BoolVar(&run, "run", false, "resume the fork at once, and wait for what follows")
	env.DryRunFlag(cmd, &dry)
	return cmd
}

// forked prints a fork, and how it goes on.
func forked(ctx context.Context, e *env.Env, c *client.Client, source string, run bool, f *outcome) error {
	if run && (f.Location != "" || f.Kind != posthouse.KindFork) {
		return f.print(ctx, e, c)
	}
	if err := e.Answer(&f.Checkpoint, func() { showCheckpoint(&e.Term, &f.Checkpoint) }); err != nil {
		return err
	}
	switch {
	case f.Status == posthouse.StatusInterrupted && f.Branch != posthouse.MainBranch:
		e.Next("posthouse resume %s --branch %s", env.Quoted(f.Thread), env.Quoted(f.Branch))
	case f.Status == posthouse.StatusInterrupted:
		e.Next("posthouse resume %s", env.Quoted(f.Thread))
	default:
		e.Next("posthouse diff %s %s", source, f.ID)
	}
	return nil
}

func checkpointDelete(e *env.Env) *cobra.Command {
	var mode, reason string
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "delete CHECKPOINT", Aliases: []string{"rm"}, Short: "Delete a checkpoint",
		Long: `Delete a checkpoint.

With children it is refused unless --mode says what becomes of them: orphan
keeps them, subtree deletes them too. Deleting a head moves the head to its
parent and cancels its gates. The removal goes on record.`,
		Example: `  posthouse checkpoint delete 019a...
  posthouse checkpoint rm 019a... --mode subtree --reason "wrong customer"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if dry {
				return wouldRemove(ctx, e, c, args[0], mode)
			}
			if ok, err := e.Confirm(yes, "delete checkpoint %s?", args[0]); err != nil || !ok {
				return err
			}
			return env.Ask(ctx, e, c, http.MethodDelete, "/api/checkpoints"+client.Path(args[0]), env.Params("mode", mode, "reason", reason), nil, func(d *retain.Deleted) { showDeleted(&e.Term, d) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&mode, "mode", "", "refuse (default), orphan or subtree")
	env.ReasonFlag(cmd, &reason)
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

// statusOf is a checkpoint's status, with why it failed.
func statusOf(h *posthouse.Header) string {
	if h.Error == "" {
		return string(h.Status)
	}
	return string(h.Status) + ": " + term.Clip(term.Visible(h.Error), 60)
}

func agentOrNode(h *posthouse.Header) string {
	return cmp.Or(h.Agent, h.Node)
}
