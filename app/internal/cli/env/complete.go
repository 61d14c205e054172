package env

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// maxCompletions is how many choices a shell is given.
const maxCompletions = 100

// A Completer offers the values of an argument. Whatever goes wrong, it offers
// nothing: a shell has nowhere to show an error.
type Completer func(context.Context, *Env) []string

// Offer returns a completer that lists what the server has. show returns the value of
// an item and a description.
func Offer[T any](path string, show func(T) (value, about string)) Completer {
	return func(ctx context.Context, e *Env) (out []string) {
		c, err := e.Client()
		if err != nil {
			return nil
		}
		for item, err := range client.List[T](ctx, c, path, nil, maxCompletions) {
			if err != nil {
				return out
			}
			value, about := show(item)
			out = append(out, term.Typeable(value)+"\t"+term.Clip(term.Visible(strings.TrimSpace(about)), 60))
		}
		return out
	}
}

// Choices lets shells complete a flag with one of a few values.
func Choices(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not there
}
