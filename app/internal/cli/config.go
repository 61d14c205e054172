package cli

import (
	"cmp"
	"context"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/task/link"
)

// ourName is the name of the command in all texts.
const ourName = "posthouse"

// A Config is what a binary adds to the command line. The zero value has no programs.
type Config struct {
	Name      string      // of the binary, in help and in hints; default posthouse
	Version   string      // default what Go recorded
	OpenStore host.Opener // default [local.Open]
	OpenLink  link.Opener // nil: workers come over HTTP only
	Programs  func(context.Context, *host.Env) (*host.Set, error)
	Dev       *Dev // nil: there is no command dev
}

// A Dev is programs to try the product with.
type Dev struct {
	About    string // help of the command dev: a line, and text behind an empty one
	Programs func(context.Context, *host.Env) (*host.Set, error)
}

// Main runs one command line on the process's own streams and environment, and
// returns its exit code.
func Main(ctx context.Context, args []string, c *Config) int {
	a := &app{
		Term: term.Term{
			In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
			Color:       term.IsTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
			Interactive: term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stderr),
		},
		env: os.Getenv, Config: *c,
	}
	return a.run(ctx, args)
}

func (a *app) name() string { return cmp.Or(a.Name, ourName) }

func (a *app) openURL(ctx context.Context, url string, o *local.Options) (posthouse.Store, error) {
	if a.OpenStore != nil {
		return a.OpenStore(ctx, url, o)
	}
	return local.Open(ctx, url, o)
}

// commandLine matches our command lines in a text.
var commandLine = regexp.MustCompile(`\bposthouse( --?[a-z]| [a-z][a-z-]+)`)

// named replaces our name by the binary's in the command lines of a text. Without
// a dev command it also replaces dev by serve.
func (a *app) named(text string) string {
	if a.Dev == nil {
		text = strings.ReplaceAll(text, ourName+" dev", ourName+" serve")
	}
	if a.name() == ourName {
		return text
	}
	return commandLine.ReplaceAllString(text, a.name()+"$1")
}

// rename puts the binary's name into the help of a command and of all below it.
func (a *app) rename(cmd *cobra.Command) {
	cmd.Long, cmd.Example = a.named(cmd.Long), a.named(cmd.Example)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = a.named(f.Usage) })
	for _, c := range cmd.Commands() {
		a.rename(c)
	}
}
