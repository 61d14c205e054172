package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
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
	v := readVersion(version)
	return e.Answer(v, func() { e.Line("%s %s (%s, %s)", e.Name(), v.Version, v.Go, v.Platform) })
}

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the work tree had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readVersion prefers what the binary says of itself, then what Go recorded.
func readVersion(version string) *versionInfo {
	v := &versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if bi, ok := debug.ReadBuildInfo(); ok {
		v.Version = cmp.Or(v.Version, bi.Main.Version)
		for _, s := range bi.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	v.Version = cmp.Or(v.Version, "(devel)")
	return v
}
