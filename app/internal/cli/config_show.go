package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/term"
)

// A configuration is what config show answers.
type configuration struct {
	File     string             `json:"file,omitempty"` // the configuration file, if there is one
	Settings []settings.Setting `json:"settings"`
	Unknown  []settings.Unknown `json:"unknown"`
	Notes    []string           `json:"notes,omitempty"` // on what was passed over
}

func configCmd(e *env.Env, c *Config) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:   "config",
		Short: "Look at the settings",
	}, configShow(e, c))
}

func configShow(e *env.Env, c *Config) *cobra.Command {
	s := serving{env: e, config: c}
	strict := false
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show each setting of serve and of clients, and where it is from",
		Long: `Show each setting of serve and of clients, and where it is from: a flag, a variable,
a file that a variable names, the configuration file, a variable of the field that it falls
back on, or the default. An earlier one of these beats a later one. It takes the flags of serve, shows
what a server would have with them, and starts nothing. Passwords and tokens are xxxxx.

The configuration file is config.yaml in posthouse below the XDG configuration home, or the
one of --config. It has the settings that are listed, by their names, and contexts. A name that
is no setting is an error.

Variables that begin with POSTHOUSE_ and are no setting are listed; with --strict the
exit code is 2 then.`,
		Example: `  posthouse config show
  posthouse config show --strict --json
  posthouse config show --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem`,
		RunE: func(cmd *cobra.Command, _ []string) error { return showConfig(e, cmd.Flags(), strict) },
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail if a variable that begins with POSTHOUSE_ is no setting")
	return cmd
}

// showConfig answers with the flags, which were set as serve's are.
func showConfig(e *env.Env, flags *pflag.FlagSet, strict bool) error {
	all := append(settings.List(flags, "config", "json", "strict"), settings.Token(e.Getenv))
	all = append(all, settings.Foreign(e.Environ(), flags.Lookup("store").Value.String())...)
	about := configuration{Settings: all, Unknown: e.Unknown, Notes: e.Passed()}
	if e.File != nil {
		about.File = e.File.Path
	}
	err := e.Answer(&about, func() {
		if about.File != "" {
			e.Line("configuration file: %s\n", about.File)
		}
		rows := [][]string{}
		for _, s := range about.Settings {
			rows = append(rows, []string{s.Name, term.Visible(s.Value), string(s.Origin), term.Visible(s.From)})
		}
		e.Table([]string{"SETTING", "VALUE", "ORIGIN", "FROM"}, rows)
		for _, doubt := range e.Doubts() {
			e.Note("warning: %s", doubt)
		}
	})
	if err == nil && strict && len(e.Unknown) > 0 {
		return env.Exit(posthouse.CodeInvalid.ExitCode())
	}
	return err
}
