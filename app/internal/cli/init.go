package cli

import (
	"context"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/project"
)

// A made is what init answers.
type made struct {
	Dir     string   `json:"dir"`
	Module  string   `json:"module"`
	Version string   `json:"version,omitempty"`  // of posthouse
	Replace string   `json:"checkout,omitempty"` // that is posthouse instead
	Files   []string `json:"files"`
	Tidy    bool     `json:"tidy"` // nothing must be downloaded before it builds
}

func initCmd(e *env.Env, c *Config) *cobra.Command {
	var path, checkout string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a Go module with a graph, a tool, an approval and a test",
		Long: `Write a Go module into a directory that is empty or not there: a graph with a call of a
model, a tool, an approval, and a test. The model is a fake that needs no key, and one over
HTTP. The module builds, its test passes, and posthouse dev in it serves it.

It requires the version of posthouse that this binary has, and downloads it. A binary
from a checkout has no version: the module gets a replace line that names the checkout, which
is that of --posthouse, or else the one around the working directory, or the one that it was built from.`,
		Example: `  posthouse init refunds
  posthouse init refunds --module example.com/acme/refunds
  posthouse init /tmp/refunds --posthouse ~/src/posthouse`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			module, err := project.PathOf(path, dir)
			if err != nil {
				return err
			}
			from, err := project.SourceOf(checkout, c.Version)
			if err != nil {
				return err
			}
			m := made{Dir: dir, Module: module, Version: from.Version, Replace: from.Checkout, Tidy: true}
			m.Files, err = project.Write(dir, m.Module, from)
			if err != nil {
				return err
			}
			if from.Version != "" {
				m.Tidy = tidy(cmd.Context(), e, dir) == nil
			}
			return e.Answer(&m, func() { showMade(e, &m) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&path, "module", "", "`PATH` of the module (default: the name of the directory)")
	f.StringVar(&checkout, "posthouse", "", "checkout in `DIR` that the module uses, instead of a version")
	return cmd
}

// tidy downloads what a module requires.
func tidy(ctx context.Context, e *env.Env, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, e.Err, e.Err
	return cmd.Run()
}

func showMade(e *env.Env, m *made) {
	e.Line("module %s in %s:", m.Module, m.Dir)
	for _, name := range m.Files {
		e.Line("  %s", name)
	}
	before := ""
	if !m.Tidy {
		before = "go mod tidy && "
		e.Note("posthouse %s could not be downloaded: it is, by go mod tidy, once there is a network", m.Version)
	}
	e.Next("cd %s && "+before+"go test ./... && posthouse dev", env.Quoted(m.Dir))
}
