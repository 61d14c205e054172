package cli

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/internal/base/build"
)

func versionCmd(e *env.Env, c *Config) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  posthouse version --json`,
		RunE:    func(*cobra.Command, []string) error { return showVersion(e, c.Version) },
	}
}

// versionFlag is the flag that does the same. No variable sets it, since others use
// POSTHOUSE_VERSION for the version they install.
const versionFlag = "version"

func showVersion(e *env.Env, version string) error {
	v := build.Read(version)
	return e.Answer(v, func() { e.Line("%s %s (%s, %s)", e.Name(), v.Version, v.Go, v.Platform) })
}
