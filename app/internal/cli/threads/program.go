package threads

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// Program returns the command program, with those below it.
func Program(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:     "program",
		Aliases: []string{"programs"},
		Short:   "List and show the programs that a server has",
		Example: `  posthouse program list
  posthouse program show refund`,
	}, programList(e), programShow(e), programDraw(e))
}

func programList(e *env.Env) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the programs of a server, by name",
		Example: `  posthouse program list
  posthouse program ls --json`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			programs, more, err := env.UpTo[*posthouse.ProgramInfo](ctx, c, "/api/programs", nil, limit)
			if err != nil {
				return err
			}
			return programTable.Print(e, programs, more)
		}),
	}
	e.LimitFlag(cmd, &limit)
	return cmd
}

var programTable = env.Table[*posthouse.ProgramInfo]{
	None: "no programs: this server serves none",
	Head: []string{"PROGRAM", "KIND", "VERSION", "STARTS", "DESCRIPTION"},
	Row: func(p *posthouse.ProgramInfo) []string {
		starts := "no"
		if p.Starts {
			starts = "yes"
		}
		return []string{p.Name, p.Kind, p.Version, starts, term.Clip(p.Description, 60)}
	},
}

func programShow(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show PROGRAM", Short: "Show what a program takes, keeps and asks",
		Long: `Show what a program takes, keeps and asks: JSON Schemas of its input and state, the
picture of a graph as the text of a Mermaid flowchart, and the questions that the
program says it asks, or has asked so far.`,
		Example: `  posthouse program show refund
  posthouse program show refund --json | jq -r .picture`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			return env.Get(ctx, e, c, client.ProgramPath(args[0]), nil, func(p *posthouse.ProgramInfo) { showProgram(e, p) })
		}),
	}
}

func programDraw(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "draw PROGRAM", Short: "Print the picture of a graph, as the text of a Mermaid flowchart",
		Example: `  posthouse program draw refund > refund.mmd`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			var p posthouse.ProgramInfo
			if err := c.Get(ctx, client.ProgramPath(args[0]), nil, &p); err != nil {
				return err
			}
			if p.Picture == "" {
				return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: p.Name + " has no picture: it is a " + p.Kind, Hint: "graphs have one; see: posthouse program list"}
			}
			return e.Answer(map[string]string{"program": p.Name, "picture": p.Picture}, func() { drawProgram(e, &p) })
		}),
	}
}

func drawProgram(e *env.Env, p *posthouse.ProgramInfo) {
	for line := range strings.Lines(p.Picture) {
		e.Line("%s", term.Visible(strings.TrimSuffix(line, "\n")))
	}
}

func showProgram(e *env.Env, p *posthouse.ProgramInfo) {
	e.Fields("program", p.Name, "kind", p.Kind, "version", p.Version, "about", p.Description)
	showSchema(&e.Term, "input", p.Input)
	showSchema(&e.Term, "state", p.State)
	for _, q := range p.Questions {
		asked := ""
		if q.Asked {
			asked = " (asked)"
		}
		e.Line("\nquestion %s%s: %s", term.Visible(q.Name), asked, term.Visible(q.Text))
		showSchema(&e.Term, "payload", q.Payload)
	}
	if p.Picture != "" {
		e.Line("\npicture:")
		drawProgram(e, p)
	}
	if p.Starts {
		e.Next("posthouse run start %s INPUT", env.Quoted(p.Name))
	}
}

// showSchema prints a JSON Schema, indented.
func showSchema(out *term.Term, name string, schema json.RawMessage) {
	if len(schema) == 0 {
		return
	}
	out.Line("\n%s:", name)
	out.Indented(schema)
}
