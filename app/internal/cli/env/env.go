package env

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/task/link"
)

// OurName is the name of the command in all texts.
const OurName = "posthouse"

// DefaultServer is the address of a server that was started without --addr.
const DefaultServer = "http://" + host.DefaultAddr

// An Env is what the commands of one command line run with.
type Env struct {
	term.Term                     // where answers go, and whether somebody can be asked
	Getenv    func(string) string // reads a variable
	Environ   func() []string     // lists all variables, each as NAME=VALUE

	// Of the binary.
	Binary    string      // its name, in help and in hints; default [OurName]
	NoDev     bool        // it has no command dev
	OpenStore host.Opener // default [local.Open]
	OpenLink  link.Opener // nil: workers come over HTTP only

	// The flags that every command has, beside those of the format.
	DataDir   string
	Server    string
	TokenFile string
	Config    string // the configuration file that was named
	Context   string // a server that is named there

	Quiet       bool                 // of a list, only ids are printed
	ConfigKeys  []string             // the settings that a configuration file may have
	File        *settings.ConfigFile // what that file says
	ConfigFault error                // what is wrong with it, for commands that are [Lenient]
	Unknown     []settings.Unknown   // variables with our prefix that mean nothing

	chosen   *choice  // nil where no context set Server
	passed   []string // what was passed over in the environment, and why
	repeated string   // those that were given, for the next command line
}

// A choice is a context that set the server.
type choice struct {
	*settings.Context
	otherFile string // the token file for other servers than the context's
}

// GlobalFlags adds the flags that every command has.
func (e *Env) GlobalFlags(f *pflag.FlagSet) {
	f.Var(&format{env: e}, "json", "answer in JSON: the same as -o json")
	f.Lookup("json").NoOptDefVal = "true"
	f.VarP(&format{env: e, named: true}, "output", "o", "table, json, jsonl (each item of a list on a line) or yaml")
	f.StringVar(&e.DataDir, "data-dir", "", "data directory (default: posthouse below the XDG data home)")
	f.StringVar(&e.Server, "server", DefaultServer, "address of the server")
	f.StringVar(&e.Config, "config", "", "configuration file (default: posthouse/config.yaml below the XDG configuration home)")
	f.StringVar(&e.Context, "context", "", "server that the configuration file names; see posthouse context")
	f.StringVar(&e.TokenFile, "token-file", "", "file with the access token (default: token in the data directory)")
}

// Repeat keeps the flags of a command line that the next one needs as well, for [Env.Next].
func (e *Env) Repeat(flags *pflag.FlagSet) {
	e.repeated = ""
	for _, name := range []string{"config", "context", "data-dir", "server", "token-file"} {
		if f := flags.Lookup(name); f != nil && f.Changed {
			e.repeated += " --" + name + " " + Quoted(f.Value.String())
		}
	}
}

// Dir returns the data directory.
func (e *Env) Dir() (datadir.Dir, error) {
	if e.DataDir != "" {
		return datadir.Dir(e.DataDir), nil
	}
	return datadir.Default(e.Getenv)
}

// Client returns a client of the server, with the token of [Env.Token].
func (e *Env) Client() (*client.Client, error) {
	token, err := e.Token()
	if err != nil {
		return nil, err
	}
	return client.New(e.Server, &client.Options{Token: token, Refused: e.Refused(token), Away: awayHint})
}

// awayHint says what to do where no server answers.
const awayHint = "start it with: posthouse dev; or say where it is with --server"

// Refused says what to do where the server refuses a token, or needs one.
func (e *Env) Refused(token string) string {
	if token == "" && e.chosen != nil {
		return e.noToken()
	}
	return "name the file of a valid one with --token-file, or make one: posthouse token create"
}

// noToken says what to do where the server of a context needs a token.
func (e *Env) noToken() string {
	x := e.chosen
	add := e.Named("posthouse context add "+x.Name) + " --server " + Quoted(x.Server) + " --token-file FILE"
	return "context " + x.Name + " has no token file, and its server gets no other token: give --token-file, or make the context again with one: " +
		e.Named("posthouse context remove "+x.Name) + " && " + add
}

// Token returns the token for the server. That of a context gets the token of the context's file, or
// of the --token-file of the command line, and no other. Another server gets that of [Env.OtherToken].
// Where no token is found it is empty, and the server decides.
func (e *Env) Token() (string, error) {
	switch {
	case e.chosen == nil:
		return e.token(e.TokenFile, client.Local(e.Server))
	case e.TokenFile == "":
		return "", nil
	}
	return datadir.ReadToken(e.TokenFile)
}

// OtherToken returns the token for a server that no context names, on this machine or on another. It is
// from the file that was named, else from POSTHOUSE_TOKEN, else, for a server on this machine only, from
// the data directory. Where no token is found it is empty, and the server decides.
func (e *Env) OtherToken(local bool) (string, error) {
	if e.chosen == nil {
		return e.token(e.TokenFile, local)
	}
	return e.token(e.chosen.otherFile, local)
}

func (e *Env) token(file string, local bool) (string, error) {
	if file != "" {
		return datadir.ReadToken(file)
	}
	if t := strings.TrimSpace(e.Getenv("POSTHOUSE_TOKEN")); t != "" {
		return t, nil
	}
	dir, err := e.Dir()
	if err != nil || !local {
		return "", err // no other server gets the token of this machine's
	}
	token, err := datadir.ReadToken(dir.Token())
	if errors.Is(err, posthouse.ErrNotFound) {
		return "", nil
	}
	return token, err
}

// Open opens the store at an address. It must be closed.
func (e *Env) Open(ctx context.Context, url string, o *local.Options) (posthouse.Store, error) {
	if e.OpenStore != nil {
		return e.OpenStore(ctx, url, o)
	}
	return local.Open(ctx, url, o)
}

// Name returns the name of the binary.
func (e *Env) Name() string { return cmp.Or(e.Binary, OurName) }

// Named replaces our name by the binary's in the command lines of a text. Without
// a dev command it also replaces dev by serve.
func (e *Env) Named(text string) string {
	if e.NoDev {
		text = strings.ReplaceAll(text, OurName+" dev", OurName+" serve")
	}
	if e.Name() == OurName {
		return text
	}
	return commandLine.ReplaceAllString(text, e.Name()+"$1")
}

// commandLine matches our command lines in a text.
var commandLine = regexp.MustCompile(`\bposthouse( --?[a-z]| [a-z][a-z-]+)`)
