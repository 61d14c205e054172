package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/diff"
)

func (a *app) diffCmd() *cobra.Command {
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
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return get(ctx, a, c, "/api/diff", params("a", args[0], "b", args[1]), func(d *diff.Comparison) { a.showComparison(d, full) })
		}),
	}
	cmd.Flags().BoolVar(&full, "full", false, "whole values, however long")
	return cmd
}

func (a *app) showComparison(d *diff.Comparison, full bool) {
	show := func(v json.RawMessage, mark, color string) {
		if v == nil {
			return
		}
		s := term.Visible(string(v))
		if !full {
			s = term.Clip(s, 160)
		}
		a.Line("  %s", a.Paint(color, mark+" "+s))
	}
	for _, f := range d.Fields {
		a.Line("%s: %s -> %s", f.Name, a.Paint(term.Bad, cmp.Or(f.A, "(none)")), a.Paint(term.Good, cmp.Or(f.B, "(none)")))
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		a.Line("%s", a.Paint(term.Loud, p.Name))
		if len(p.Paths) == 0 {
			show(valueOf(p.A), "-", term.Bad)
			show(valueOf(p.B), "+", term.Good)
		}
		for _, c := range p.Paths {
			if c.Path != "" {
				a.Line("  %s", c.Path)
			}
			show(c.A, "-", term.Bad)
			show(c.B, "+", term.Good)
		}
		if p.More > 0 {
			a.Line("  and %s changes more", number(p.More))
		}
	}
	if len(d.Parts) == 0 {
		a.Line("no part differs")
	}
	if d.Ancestor != "" && d.Ancestor != d.A && d.Ancestor != d.B {
		a.Line("both derive from %s", d.Ancestor)
	}
}

// valueOf returns a part's value, or a description of one that is not shown.
func valueOf(s *diff.PartSide) json.RawMessage {
	if s == nil {
		return nil
	}
	if s.Value != nil {
		return s.Value
	}
	return json.RawMessage(fmt.Sprintf("(%s, codec %s, SHA-256 %s)", size(int64(s.Size)), s.Codec, s.Hash))
}
