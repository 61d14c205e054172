package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/client"
)

// A shownContext is a context as context list shows it.
type shownContext struct {
	settings.Context
	Current bool `json:"current"`
}

var contextTable = env.Table[shownContext]{
	None: "no contexts: add one with posthouse context add",
	Head: []string{"CONTEXT", "SERVER", "TOKEN FILE", ""},
	Row: func(c shownContext) []string {
		current := ""
		if c.Current {
			current = "current"
		}
		return []string{c.Name, address.Redacted(c.Server), c.TokenFile, current}
	},
}

func contextCmd(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "context", Aliases: []string{"contexts"}, Short: "Name servers, and choose the one that commands ask",
		Long: `Name servers, and choose the one that commands ask. They are kept in the configuration
file, each with the file of its token. --context names another for one command.

What a command line or a variable says of --server counts more than the context in use; a
context that the command line names counts more than variables. A context's token is sent
to its own server only, and that server gets no other: not that of a variable or of the data
directory. --token-file on the command line names another for one command.`,
		Example: `  posthouse context add prod --server https://posthouse.example.com --token-file prod.token
  posthouse context use prod
  posthouse inbox --context staging`,
	}, contextList(e), contextUse(e), contextAdd(e), contextRemove(e))
}

// lenient marks a command that mends the configuration.
func lenient(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{env.Lenient: "true"}
	return cmd
}

func contextList(e *env.Env) *cobra.Command {
	cmd := lenient(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the contexts of the configuration file",
		Example: `  posthouse context list`,
		RunE: func(*cobra.Command, []string) error {
			if e.File == nil && e.ConfigFault != nil {
				return e.ConfigFault
			}
			all := []shownContext{}
			if e.File != nil {
				for _, c := range e.File.Contexts {
					all = append(all, shownContext{c, c.Name == e.Context})
				}
			}
			return contextTable.Print(e, all, false)
		},
	})
	e.QuietFlag(cmd)
	return cmd
}

func contextUse(e *env.Env) *cobra.Command {
	return lenient(&cobra.Command{
		Use: "use NAME", Short: "Choose the context that counts where no other is named",
		Example: `  posthouse context use prod`,
		RunE: func(_ *cobra.Command, args []string) error {
			path, _ := e.ConfigPath()
			if err := settings.UseContext(path, e.ConfigKeys, args[0]); err != nil {
				return err
			}
			return e.Answer(map[string]string{"context": args[0], "config": path}, func() { e.Line("commands ask the server of %s from now on", args[0]) })
		},
	})
}

func contextAdd(e *env.Env) *cobra.Command {
	use := false
	cmd := lenient(&cobra.Command{
		Use: "add NAME", Short: "Name the server of --server, and the token file of --token-file",
		Example: `  posthouse context add prod --server https://posthouse.example.com --token-file prod.token --use`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("server") || settings.Of(cmd.Flags().Lookup("server")).Origin != settings.Flag {
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "server", Message: "is required", Hint: "as in --server https://posthouse.example.com"}
			}
			x := settings.Context{Name: args[0], Server: e.Server}
			if _, err := client.New(e.Server, nil); err != nil {
				return err
			}
			if f := cmd.Flags().Lookup("token-file"); settings.Of(f).Origin == settings.Flag {
				var err error
				x.TokenFile, err = filepath.Abs(e.TokenFile)
				if err != nil {
					return err
				}
			}
			path, _ := e.ConfigPath()
			if err := settings.AddContext(path, e.ConfigKeys, x); err != nil {
				return err
			}
			if use {
				if err := settings.UseContext(path, e.ConfigKeys, x.Name); err != nil {
					return err
				}
			}
			return e.Answer(shownContext{x, use}, func() {
				e.Line("context %s is in %s", x.Name, path)
				if !use {
					e.Line("\nnext: %s", e.Named("posthouse context use "+x.Name))
				}
			})
		},
	})
	cmd.Flags().BoolVar(&use, "use", false, "choose it as well")
	return cmd
}

func contextRemove(e *env.Env) *cobra.Command {
	return lenient(&cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Take a context out of the configuration file",
		Example: `  posthouse context remove staging`,
		RunE: func(_ *cobra.Command, args []string) error {
			path, _ := e.ConfigPath()
			if err := settings.RemoveContext(path, e.ConfigKeys, args[0]); err != nil {
				return err
			}
			return e.Answer(map[string]string{"removed": args[0], "config": path}, func() { e.Line("context %s is gone", args[0]) })
		},
	})
}
