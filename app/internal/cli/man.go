package cli

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/manpage"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/internal/base/build"
)

func manCmd(e *env.Env, c *Config) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `Write the manual pages into a directory: one for each command. Packages have them, so
that man posthouse and man posthouse-serve show them.`,
		Example: `  posthouse man ~/.local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := manpage.WriteAll(cmd.Root(), args[0], build.Read(c.Version).Version)
			if err != nil {
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "DIR", Message: "cannot be written to", Err: err}
			}
			return e.Answer(map[string]any{"dir": args[0], "pages": names}, func() {
				e.Line("%s: %s", args[0], term.Count(len(names), "page"))
				e.Next("man -l %s", env.Quoted(args[0]+"/"+names[0]))
			})
		},
	}
}
