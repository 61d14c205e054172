package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/trace"
)

// Programs are what a binary serves, and what it is built with. The zero value
// is a server without programs.
type Programs struct {
	// Open makes the programs over the Ledger of a server that starts. It is
	// called once for each start, before the server takes requests; its error ends
	// the start. Nil: there are no programs.
	Open func(ctx context.Context, env *Env) (*Set, error)

	// OpenStore opens the store that --store or Options.Store names; all.Open
	// of package store/all fits. Nil: memory:, file:DIR and
	// sqlite:PATH.
	OpenStore func(ctx context.Context, url string, o *local.Options) (posthouse.Store, error)

	// OpenLink opens what --nats, --nats-listen or Options.Link name, where workers come
	// beside HTTP; natslink.Open of package task/natslink fits, and links NATS. Nil: there
	// are no such flags.
	OpenLink link.Opener

	// OpenTraces opens what traces and metrics are exported by; otel.Open of module
	// github.com/posthouse/posthouse/otel fits, and links OpenTelemetry. Nil: nothing is exported.
	OpenTraces trace.Opener

	// OpenSignIn opens the provider that the flags --oidc-* or Options.SignIn name; oidc.Open of
	// module github.com/posthouse/posthouse/oidc fits. Nil: there are no such flags.
	OpenSignIn signin.Opener

	// Channels are the kinds of endpoints that a file of --notify can have beside webhooks: slack.Kind and
	// mail.Kind, of modules github.com/posthouse/posthouse/slack and github.com/posthouse/posthouse/mail, fit.
	Channels []notifyfile.Kind

	Name    string // of the binary, in help and hints; default the name of its file
	Version string // default what Go recorded in the binary

	// Dev adds the command dev, which serves other programs than Open's. They may
	// be a sample, or call no paid service. Nil: no such command.
	Dev *Dev
}

// A Dev is programs to try a product with.
type Dev struct {
	// About is the help of the command: one line, and more after an empty line.
	About string

	// Open is as Programs.Open. It is required.
	Open func(ctx context.Context, env *Env) (*Set, error)

	// Demo adds the flag --demo, which serves other programs than Open's, over a store of its own
	// that has a past. Nil: no such flag.
	Demo *Demo
}

// A Demo is programs with a past, to look at a product before it has one of its own.
type Demo struct {
	About string // of the past, in the help of --demo: half a sentence, as in "a week of refunds"

	// Open is as Programs.Open. It is required.
	Open func(ctx context.Context, env *Env) (*Set, error)

	// Fill writes the past, once, into an empty store. The clock of env.Ledger stands where at puts
	// it, at first before any past, and must not go back. It is required.
	Fill func(ctx context.Context, env *Env, at func(time.Time)) error

	// Work runs beside the server until ctx ends, as workers do. Nil: nothing does.
	Work func(ctx context.Context, engine task.Engine) error

	// Letters are dead letters to look at, where no queue of workers has some. Nil: there is no box.
	Letters deadletter.Box
}

// An Env is what programs are made over.
type Env struct {
	Ledger *ledger.Ledger // compile graphs, open flows and make coordinators over it
	Dir    string         // the data directory, for files of the programs' own
	Logger *slog.Logger   // the server's
}

// A Set is the programs of one Ledger. All fields are optional.
type Set struct {
	// Programs are kept moving by the runner: App.Programs of a graph, the App of
	// a flow, a coordinator. A coordinator takes requests under its name as well. Clients
	// list them, and begin runs of those that are a [posthouse.JSONStarter].
	Programs []posthouse.Program

	// Agents take requests, by name, beside coordinators. A name that a
	// coordinator has is [posthouse.ErrInvalid].
	Agents map[string]server.Agent

	// Recover says what request a waiting checkpoint is about; see
	// [server.Options]. Nil: no program needs one.
	Recover func(*posthouse.Checkpoint) (request string, ok bool)

	Notes []string // names and values in turns, printed when the server is ready
	Next  string   // command to type first, as in `send order "one lamp"`; default inbox
}

// opener converts open for package host.
func opener(open func(context.Context, *Env) (*Set, error)) func(context.Context, *host.Env) (*host.Set, error) {
	if open == nil {
		return nil
	}
	return func(ctx context.Context, env *host.Env) (*host.Set, error) {
		s, err := open(ctx, (*Env)(env))
		return (*host.Set)(s), err
	}
}

// dev returns what the command dev serves.
func (p *Programs) dev() *cli.Dev {
	if p.Dev == nil {
		return nil
	}
	d := &cli.Dev{About: p.Dev.About, Programs: opener(p.Dev.Open)}
	if o := p.Dev.Demo; o != nil {
		d.Demo = &cli.Demo{About: o.About, Programs: opener(o.Open), Fill: func(ctx context.Context, env *host.Env, at func(time.Time)) error {
			return o.Fill(ctx, (*Env)(env), at)
		}, Work: o.Work, Letters: o.Letters}
	}
	return d
}
