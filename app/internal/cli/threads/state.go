package threads

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// State returns the command state, with what is below it.
func State(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "state", Short: "Print the state of a thread, or go on with another one",
		Example: `  posthouse state get order-1234
  posthouse state set order-1234 '{"amount": 20}' --run`,
	}, stateGet(e), stateSet(e))
}

func stateGet(e *env.Env) *cobra.Command {
	var branch string
	cmd := &cobra.Command{
		Use: "get THREAD|CHECKPOINT [PART]", Short: "Print a state as JSON, and nothing else",
		Long: `Print a state as JSON, and nothing else: that of a checkpoint, or of the head of a
thread's branch. With a part, it prints that one.

States on record never change: posthouse state set goes on with another one.`,
		Example: `  posthouse state get order-1234
  posthouse state get order-1234 amount
  posthouse state get 01a2...667e -o yaml`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := headOf(ctx, c, args[0], branch)
			if err != nil {
				return err
			}
			var cp server.Checkpoint
			if err := c.Get(ctx, "/api/checkpoints"+client.Path(id), nil, &cp); err != nil {
				return err
			}
			state := cp.State
			if len(args) > 1 {
				state, err = partOf(&cp, args[1])
				if err != nil {
					return err
				}
			}
			return e.Answer(state, func() { e.Indented(state) })
		}),
	}
	branchFlag(cmd, &branch)
	return cmd
}

func stateSet(e *env.Env) *cobra.Command {
	var from, branch, thread string
	var run, dry, keep bool
	cmd := &cobra.Command{
		Use: "set THREAD|CHECKPOINT PATCH", Short: "Go on with another state, on a new branch",
		Long: `Go on with another state, on a new branch: that of a checkpoint, or of the head of a thread's
branch, after a patch. An object is a merge patch (RFC 7396): its members are set, and those
that are null are removed. A list is a JSON Patch (RFC 6902): a test that fails changes nothing
and names its path. What a patch does not touch keeps its bytes. - reads standard input, @FILE
a file.

States on record never change: this is a fork, as posthouse checkpoint fork makes one.`,
		Example: `  posthouse state set order-1234 '{"amount": 20}' --run
  posthouse state set order-1234 '[{"op":"test","path":"/amount","value":40},{"op":"replace","path":"/amount","value":20}]' --dry-run`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := headOf(ctx, c, args[0], from)
			if err != nil {
				return err
			}
			patch, err := e.ReadJSON("patch", args[1], "see: posthouse state get "+args[0])
			if err != nil {
				return err
			}
			query := env.Params("branch", branch, "thread", thread)
			if run {
				query.Set("run", "true")
			}
			if dry {
				query.Set("dryRun", "true")
			}
			if keep {
				query.Set("keepNext", "true")
			}
			var answer outcome
			if err := c.Do(ctx, http.MethodPost, "/api/checkpoints"+client.Path(id, "fork"), query, &client.Patch{Data: patch}, &answer); err != nil {
				return err
			}
			if dry {
				return e.Answer(answer.Plan, func() { showPlan(e, &answer.Checkpoint) })
			}
			return forked(ctx, e, c, id, run, &answer)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "the branch whose head it is, of a thread (default main)")
	f.StringVar(&branch, "branch", "", "name of the new branch (default fork-1, fork-2, ...)")
	f.StringVar(&thread, "thread", "", "go on in this new thread instead")
	f.BoolVar(&keep, "keep-next", false, "keep the next nodes that the source chose; otherwise routes and maps of a graph choose again")
	f.BoolVar(&run, "run", false, "resume it at once, and wait for what follows")
	env.DryRunFlag(cmd, &dry)
	return cmd
}

// partOf returns a part of a state.
func partOf(cp *server.Checkpoint, name string) (json.RawMessage, error) {
	var parts map[string]json.RawMessage
	err := json.Unmarshal(cp.State, &parts)
	part, ok := parts[name]
	if ok {
		return part, nil
	}
	e := &posthouse.Error{Code: posthouse.CodeNotFound, Message: "the state of " + string(cp.ID) + " has no part " + name}
	if err != nil || len(parts) == 0 {
		e.Hint = "it is no object: leave the part out"
		return nil, e
	}
	e.Hint = "it has " + strings.Join(slices.Sorted(maps.Keys(parts)), ", ")
	return nil, e
}
