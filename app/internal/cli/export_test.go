package cli

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// Root returns all commands of a binary, for tests that walk them.
func Root(c *Config) *cobra.Command {
	return root(&env.Env{Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Binary: c.Name, NoDev: c.Dev == nil, OpenLink: c.OpenLink}, c)
}

// ConfigKeys are the settings that a configuration file may have.
var ConfigKeys = configKeys
