package threads

import (
	"context"
	"encoding/json"
	"maps"
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
		Use: "state", Short: "Print the state of a thread, or a part of it",
		Example: `  posthouse state get order-1234`,
	}, stateGet(e))
}

func stateGet(e *env.Env) *cobra.Command {
	var branch string
	cmd := &cobra.Command{
		Use: "get THREAD|CHECKPOINT [PART]", Short: "Print a state as JSON, and nothing else",
		Long: `Print a state as JSON, and nothing else: that of a checkpoint, or of the head of a
thread's branch. With a part, it prints that one.

States on record never change. To go on with another one, fork: posthouse checkpoint fork
CHECKPOINT --patch '{"amount": 20}' --run.`,
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
