package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// logLevelPath is what a server answers and sets its log level at.
const logLevelPath = "/api/log-level"

type logLevel struct {
	Level string `json:"level"`
}

func logLevelCmd(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or set what a running server logs",
		Long: `Show what a running server logs, or set it: debug, info, warn or error.

It holds for the server that answers, until it ends; --log-level of serve is what the
next one begins with. It needs an operator's token.`,
		Example: `  posthouse log-level
  posthouse log-level debug --server https://posthouse.example`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"debug", "info", "warn", "error"},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return env.Get(cmd.Context(), e, c, logLevelPath, nil, func(l *logLevel) { e.Line("%s", l.Level) })
			}
			return env.Ask(cmd.Context(), e, c, http.MethodPut, logLevelPath, nil, logLevel{args[0]}, func(l *logLevel) {
				e.Line("the server logs %s and above", l.Level)
			})
		},
	}
}
