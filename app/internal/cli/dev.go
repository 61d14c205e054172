package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) devCmd() *cobra.Command {
	s := serveFlags{dev: true}
	short, _, _ := strings.Cut(a.Dev.About, "\n")
	short = strings.TrimSuffix(short, ".")
	cmd := &cobra.Command{
		Use:   "dev",
		Short: short,
		Long:  strings.TrimSpace(a.Dev.About),
		Example: `  posthouse dev
  posthouse dev --ephemeral --addr 127.0.0.1:0
  posthouse dev --data-dir ./data --store sqlite:./data/other.db`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s) },
	}
	a.serveFlags(cmd, &s)
	return cmd
}
