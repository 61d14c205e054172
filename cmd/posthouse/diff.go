package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/rest"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/statediff"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/term"
	"github.com/posthouse/posthouse/server"
)

func (a *app) diffCmd() *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what changed between two checkpoints, per state part",
		Long: `Show what changed between two checkpoints, per state part.

Values within JSON are named by their JSON pointer. Elements of lists are
matched from both ends, so an appended message shows as one addition.`,
		Example: `  posthouse diff 019a...01 019a...05
  posthouse diff 019a...01 019a...05 --json`,
		Args: args(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var states [2]posthouse.State
			for i, id := range args {
				var cp server.Checkpoint
				if err := c.Get(cmd.Context(), "/api/checkpoints"+rest.Path(id), nil, &cp); err != nil {
					return err
				}
				if states[i], err = stateOf(&cp); err != nil {
					return err
				}
			}
			changes := statediff.Diff(states[0], states[1])
			if a.JSON {
				return a.Encode(map[string]any{"a": args[0], "b": args[1], "changes": append([]statediff.Change{}, changes...)})
			}
			a.showChanges(changes, full)
			return nil
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "whole values, however long")
	return cmd
}

func (a *app) showChanges(changes []statediff.Change, full bool) {
	if len(changes) == 0 {
		a.Line("no part differs")
		return
	}
	show := func(mark, color string, v json.RawMessage) {
		if v == nil {
			return
		}
		s := term.Strip(string(v))
		if !full {
			s = term.Clip(s, 160)
		}
		a.Line("  %s", a.Paint(color, mark+" "+s))
	}
	part := ""
	for i, c := range changes {
		if c.Part != part || i == 0 {
			part = c.Part
			a.Line("%s", a.Paint(term.Loud, part))
		}
		if c.Path != "" {
			a.Line("  %s", c.Path)
		}
		show("-", term.Bad, c.Before)
		show("+", term.Good, c.After)
	}
}
