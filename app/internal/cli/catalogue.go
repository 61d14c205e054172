package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/cli/settings"
)

// unkept are the flags that no configuration file may have: they are for one command line.
var unkept = []string{"config", "help", "json", "new-key", "new-store", "version"}

// configKeys returns the settings that a configuration file may have: the flags of serve, and those of
// every command.
func configKeys(root *cobra.Command) (keys []string) {
	add := func(f *pflag.Flag) {
		if !slices.Contains(unkept, f.Name) && !slices.Contains(keys, f.Name) {
			keys = append(keys, f.Name)
		}
	}
	root.PersistentFlags().VisitAll(add)
	for _, c := range root.Commands() {
		if c.Name() == "serve" {
			c.LocalFlags().VisitAll(add)
		}
	}
	return keys
}

// catalogue returns the settings of a command and of all below it.
func catalogue(root *cobra.Command) *settings.Catalogue {
	flags := []string{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				flags = append(flags, f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(root)
	return settings.NewCatalogue(flags)
}
