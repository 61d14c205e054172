package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/cli/settings"
)

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
