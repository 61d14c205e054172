package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
)

// manyArgs is the most arguments of a command that takes any number of them.
const manyArgs = math.MaxInt

// args checks how many arguments a command was given.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		n := len(given)
		if least <= n && n <= most {
			return nil
		}
		e := &posthouse.Error{Code: posthouse.CodeInvalid, Hint: "see: " + cmd.CommandPath() + " --help"}
		takes := term.Count(most, "argument")
		if most == manyArgs {
			takes = term.Count(least, "argument") + " or more"
		} else if least < most {
			takes = fmt.Sprintf("%d to %s", least, takes)
		}
		switch {
		case cmd.HasSubCommands():
			e.Message = fmt.Sprintf("unknown command %q for %q", given[0], cmd.CommandPath())
			cmd.SuggestionsMinimumDistance = 2
			if like := cmd.SuggestionsFor(given[0]); len(like) > 0 {
				e.Hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(like, " or ") + "? " + e.Hint
			}
		case most == 0:
			e.Message = fmt.Sprintf("%s takes no argument, and was given %q", cmd.CommandPath(), given[0])
		default:
			e.Message = fmt.Sprintf("%s takes %s, and was given %d: %s", cmd.CommandPath(), takes, n, cmd.UseLine())
		}
		return e
	}
}

// pathFlags are flags that name files. File names may be any bytes.
var pathFlags = []string{"config", "data-dir", "dir", "key", "keys", "nats-ca", "nats-cert", "nats-creds", "nats-key", "notify", "out", "posthouse", "store", "tls-cert", "tls-key", "token-file", "witness"}

// flagsAreText refuses flags that are not UTF-8, which JSON would change.
func flagsAreText(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(pathFlags, f.Name) {
			err = env.IsText(f.Name, f.Value.String())
		}
	})
	return err
}
