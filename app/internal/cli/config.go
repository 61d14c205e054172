package cli

import (
	"context"
	"os"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/trace"
)

// A Config is what a binary adds to the command line. The zero value has no programs.
type Config struct {
	Name      string        // of the binary, in help and in hints; default posthouse
	Version   string        // default what Go recorded
	OpenStore host.Opener   // default [local.Open]
	OpenLink  link.Opener   // nil: workers come over HTTP only
	Traces    trace.Opener  // nil: nothing is exported
	SignIn    signin.Opener // nil: people log in with tokens only
	Channels  []notifyfile.Kind
	Programs  func(context.Context, *host.Env) (*host.Set, error)
	Dev       *Dev                                    // nil: there is no command dev
	Serve     func(context.Context, *host.Host) error // what serve and dev do once they are ready; default [host.Host.Run]
}

// A Dev is programs to try the product with.
type Dev struct {
	About    string // help of the command dev: a line, and after an empty line more
	Programs func(context.Context, *host.Env) (*host.Set, error)
	Demo     *Demo // nil: dev has no flag --demo
}

// A Demo is programs with a past.
type Demo struct {
	About    string // of the past, in the help of the flag
	Programs func(context.Context, *host.Env) (*host.Set, error)
	Fill     func(ctx context.Context, env *host.Env, at func(time.Time)) error // writes the past
	Work     func(ctx context.Context, engine task.Engine) error                // runs beside the server; nil: nothing does
	Letters  deadletter.Box                                                     // nil: there is no box
}

// Main runs one command line on the process's own streams and environment, and
// returns its exit code.
func Main(ctx context.Context, args []string, c *Config) int {
	return Run(ctx, args, c, os.Getenv, os.Environ, term.Term{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Columns: term.ColumnsOf(os.Stdout),
		Color:       term.IsTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Interactive: term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stderr),
	})
}

// Run is [Main] on other streams and with another environment, where getenv finds a variable
// and environ lists all as NAME=VALUE.
func Run(ctx context.Context, args []string, c *Config, getenv func(string) string, environ func() []string, t term.Term) int {
	e := &env.Env{Term: t, Getenv: getenv, Environ: environ, Binary: c.Name, NoDev: c.Dev == nil, OpenStore: c.OpenStore, OpenLink: c.OpenLink}
	cmd := root(e, c)
	cmd.SetArgs(args)
	cmd.SetIn(t.In)
	cmd.SetOut(t.Out)
	cmd.SetErr(t.Err)
	builtins(cmd)
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return posthouse.ExitOK
	}
	return fail(e, ran, err)
}
