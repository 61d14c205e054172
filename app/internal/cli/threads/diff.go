package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// Diff returns the command diff.
func Diff(e *env.Env) *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what changed between two checkpoints, per state part",
		Long: `Show what changed between two checkpoints: fields of their headers, then the
state, part by part, and the newest checkpoint that both derive from.

Values within JSON are named by their JSON pointer. Elements of lists are
matched from both ends, so an appended message shows as one addition.`,
		Example: `  posthouse diff 019a...01 019a...05
  posthouse diff 019a...01 019a...05 --json`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			d, err := client.Compare(ctx, c, posthouse.ID(args[0]), posthouse.ID(args[1]))
			return env.Show(e, d, err, func(d *client.Comparison) { showComparison(&e.Term, d, full) })
		}),
	}
	cmd.Flags().BoolVar(&full, "full", false, "whole values, however long")
	return cmd
}

func showComparison(out *term.Term, d *client.Comparison, full bool) {
	show := func(v json.RawMessage, mark, color string) {
		if v == nil {
			return
		}
		s := term.Visible(string(v))
		if !full {
			s = term.Clip(s, 160)
		}
		out.Line("  %s", out.Paint(color, mark+" "+s))
	}
	for _, f := range d.Fields {
		out.Line("%s: %s -> %s", f.Name, out.Paint(term.Bad, cmp.Or(f.A, "(none)")), out.Paint(term.Good, cmp.Or(f.B, "(none)")))
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		out.Line("%s", out.Paint(term.Loud, p.Name))
		if len(p.Paths) == 0 {
			show(valueOf(p.A), "-", term.Bad)
			show(valueOf(p.B), "+", term.Good)
		}
		for _, c := range p.Paths {
			if c.Path != "" {
				out.Line("  %s", c.Path)
			}
			show(c.A, "-", term.Bad)
			show(c.B, "+", term.Good)
		}
		if p.More > 0 {
			out.Line("  and %s changes more", term.Number(p.More))
		}
	}
	if len(d.Parts) == 0 {
		out.Line("no part differs")
	}
	if d.Ancestor != "" && d.Ancestor != d.A && d.Ancestor != d.B {
		out.Line("both derive from %s", d.Ancestor)
	}
}

// valueOf returns a part's value, or a description of one that is not shown.
func valueOf(s *client.PartSide) json.RawMessage {
	if s == nil {
		return nil
	}
	if s.Value != nil {
		return s.Value
	}
	return json.RawMessage(fmt.Sprintf("(%s, codec %s, SHA-256 %s)", term.Size(int64(s.Size)), s.Codec, s.Hash))
}
