package cli

import "github.com/spf13/cobra"

// builtins makes cobra's own commands refuse unknown arguments with exit code 2.
// By themselves they print help and succeed.
func builtins(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.RunE = func(_ *cobra.Command, names []string) error {
				about, rest, err := root.Find(names)
				if err == nil && len(rest) > 0 {
					err = args(0, 0)(about, rest)
				}
				if err != nil {
					return err
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			c.Args = args(0, 0)
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
