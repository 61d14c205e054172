package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
)

// An app is one run of the command line.
type app struct {
	term.Term
	env func(string) string
	Config

	dataDir   string
	server    string
	tokenFile string
	allowWeak bool // a store that loses acknowledged writes

	where string // the flags of the command line that the next command needs, too
}

const defaultServer = "http://" + host.DefaultAddr

func (a *app) root() *cobra.Command {
	asked := false // for the version
	cmd := &cobra.Command{
		Use:   a.name(),
		Short: "Durable checkpoints and approvals for agent workflows",
		Long: `Durable checkpoints and approvals for agent workflows.

` + a.firstStep() + `
It prints the next command to type.

Every flag can be set by an environment variable: POSTHOUSE_ and the flag's
name in capitals, as in POSTHOUSE_DATA_DIR. POSTHOUSE_TOKEN is the access token
itself, where no file is named. NO_COLOR turns colours off.

Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 not found, 4 something
else won (decided, conflict, busy, exists, ambiguous, cancelled), 5 expired, 6 forbidden,
7 not available now, 8 damage found.`,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return a.showVersion()
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.where = where(cmd.Flags())
			if err := a.fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			return flagsAreText(cmd.Flags())
		},
	}
	cmd.Flags().BoolVar(&asked, versionFlag, false, "print the version")
	pf := cmd.PersistentFlags()
	pf.BoolVar(&a.JSON, "json", false, "answer in JSON")
	pf.StringVar(&a.dataDir, "data-dir", "", "data directory (default: posthouse below the XDG data home)")
	pf.StringVar(&a.server, "server", defaultServer, "address of the server")
	pf.StringVar(&a.tokenFile, "token-file", "", "file with the access token (default: token in the data directory)")

	a.addCommands(cmd)
	a.complete(cmd)
	a.rename(cmd)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Message: err.Error(), Hint: "see: " + c.CommandPath() + " --help"}
	})
	return cmd
}

func (a *app) firstStep() string {
	if a.Dev == nil {
		return `Begin with "posthouse serve": a server on this machine with its programs.`
	}
	return `Begin with "posthouse dev": a server on this machine with a sample to try.`
}

// addCommands adds all commands, in the groups that help lists them by.
func (a *app) addCommands(root *cobra.Command) {
	add := func(group string, cs ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: group, Title: group + ":"})
		for _, c := range cs {
			c.GroupID = group
		}
		root.AddCommand(cs...)
	}
	run := []*cobra.Command{a.serveCmd(), a.sendCmd(), a.signalCmd(), a.resumeCmd(), a.replayCmd(), a.anewCmd()}
	if a.Dev != nil {
		run = append(run, a.devCmd())
	}
	add("Run", run...)
	add("Decide", append(a.decideCmds(), a.inboxCmd(), a.gateCmd(), a.delegateCmd(), a.askAgainCmd())...)
	add("Look and change", a.threadCmd(), a.checkpointCmd(), a.logCmd(), a.grantCmd(), a.diffCmd())
	add("Hand out", a.taskCmd(), a.workerCmd())
	add("Prove", a.verifyCmd(), a.witnessCmd(), a.exportCmd(), a.keyCmd(), a.encryptionCmd())
	add("Operate", a.tokenCmd(), a.retainCmd(), a.compactCmd(), a.backupCmd(), a.storeCmd(), a.catCmd(), a.benchCmd(), a.versionCmd())
	root.SetHelpCommandGroupID("Operate")
	root.SetCompletionCommandGroupID("Operate")
}

// run executes one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	cmd := a.root()
	cmd.SetArgs(args)
	cmd.SetIn(a.In)
	cmd.SetOut(a.Out)
	cmd.SetErr(a.Err)
	builtins(cmd)
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return posthouse.ExitOK
	}
	return a.fail(ran, err)
}

// fail prints an error and returns its exit code.
func (a *app) fail(cmd *cobra.Command, err error) int {
	if quiet, ok := errors.AsType[*exitError](err); ok {
		return quiet.code // what there was to say was the answer
	}
	if errors.Is(err, context.Canceled) {
		return 130 // as shells report an interrupt
	}
	e, ok := errors.AsType[*posthouse.Error](err)
	if !ok {
		// Only cobra's own complaints about names and arguments have no code.
		e = &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: err.Error(),
			Hint: "see: " + cmd.CommandPath() + " --help",
		}
	}
	said := *e
	switch {
	case said.Hint != "":
	case said.Code == posthouse.CodeNotFound && said.Err == nil:
		said.Hint = "see what there is: posthouse inbox, posthouse thread list, posthouse checkpoint list"
	case errors.Is(said.Err, fs.ErrNotExist):
		said.Hint = "say where it is, or name the data directory with --data-dir"
	}
	said.Hint = a.named(said.Hint)
	if a.JSON {
		errTerm := term.Term{Out: a.Err}
		_ = errTerm.Encode(map[string]*posthouse.Error{"error": &said}) // nothing is left to report a failure to
		return e.Code.ExitCode()
	}
	hint := said.Hint
	said.Hint = ""
	a.Note("%s %s", a.Paint(term.Bad, "error:"), strings.TrimPrefix(said.Error(), "posthouse: "))
	switch {
	case e.Decision != nil && e.Code == posthouse.CodeVoted:
		a.Note("  the %s", tree.Vote(e.Decision))
	case e.Decision != nil:
		a.Note("  the first decision: %s", tree.Decision(e.Decision))
	}
	for _, g := range e.Gates {
		a.Note("  %s", g)
	}
	if hint != "" {
		a.Note("  %s", hint)
	}
	return e.Code.ExitCode()
}

// An exitError ends the command with a code and prints nothing.
type exitError struct{ code int }

func (e *exitError) Error() string { return "posthouse: the answer above is not a good one" }

// args checks how many arguments a command was given.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		n := len(given)
		if least <= n && n <= most {
			return nil
		}
		e := &posthouse.Error{Code: posthouse.CodeInvalid, Hint: "see: " + cmd.CommandPath() + " --help"}
		takes := count(most, "argument")
		if least < most {
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

// where returns the flags of a command line that the next one needs as well.
func where(flags *pflag.FlagSet) (line string) {
	for _, name := range []string{"data-dir", "server", "token-file"} {
		if f := flags.Lookup(name); f != nil && f.Changed {
			line += " --" + name + " " + quoted(f.Value.String())
		}
	}
	return line
}

// quoted returns a word quoted for a shell.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./~-]+$`)

// fromEnvironment sets the flags that were not given from POSTHOUSE_ variables.
func (a *app) fromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || f.Name == versionFlag || err != nil {
			return
		}
		name := "POSTHOUSE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		v := a.env(name)
		if v == "" {
			return
		}
		if e := flags.Set(f.Name, v); e != nil {
			err = &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "does not fit --" + f.Name + ": " + e.Error()}
		}
	})
	return err
}

// pathFlags are flags that name files. File names may be any bytes.
var pathFlags = []string{"data-dir", "dir", "key", "keys", "nats-ca", "nats-cert", "nats-creds", "nats-key", "out", "store", "tls-cert", "tls-key", "token-file", "witness"}

// flagsAreText refuses flags that are not UTF-8, which JSON would change.
func flagsAreText(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(pathFlags, f.Name) {
			err = isText(f.Name, f.Value.String())
		}
	})
	return err
}

func isText[T ~string | ~[]byte](field string, v T) error {
	if utf8.ValidString(string(v)) {
		return nil
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "is not UTF-8", Hint: "convert it first, as with iconv"}
}

func (a *app) dir() (datadir.Dir, error) {
	if a.dataDir != "" {
		return datadir.Dir(a.dataDir), nil
	}
	return datadir.Default(a.env)
}

// client returns a client of the server. Its token is from the file that was named,
// else from POSTHOUSE_TOKEN, else from the data directory. Without one the server
// decides.
func (a *app) client() (*rest.Client, error) {
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	return rest.New(a.server, token)
}

func (a *app) token() (string, error) { return a.tokenFor(rest.Local(a.server)) }

// tokenFor returns the token for a server on this machine, or on another.
func (a *app) tokenFor(local bool) (string, error) {
	if a.tokenFile != "" {
		return datadir.ReadToken(a.tokenFile)
	}
	if t := strings.TrimSpace(a.env("POSTHOUSE_TOKEN")); t != "" {
		return t, nil
	}
	dir, err := a.dir()
	if err != nil || !local {
		return "", err // no other server gets the token of this machine's
	}
	token, err := datadir.ReadToken(dir.Token())
	if errors.Is(err, posthouse.ErrNotFound) {
		return "", nil
	}
	return token, err
}

// readArg returns a text given on the command line. "-" reads standard input,
// "@path" a file.
func (a *app) readArg(v string) ([]byte, error) {
	data, err := a.readBytes(v)
	if err == nil {
		err = isText("value", data)
	}
	return data, err
}

// readJSON is [app.readArg] for JSON; hint says what to do if it is something else.
func (a *app) readJSON(field, v, hint string) (json.RawMessage, error) {
	data, err := a.readArg(v)
	if err == nil && !json.Valid(data) {
		err = &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "is not JSON", Hint: hint}
	}
	return data, err
}

func (a *app) readBytes(v string) ([]byte, error) {
	switch {
	case v == "-":
		return readAll(a.In)
	case strings.HasPrefix(v, "@"):
		f, err := os.Open(v[1:])
		if err != nil {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Message: "the file after @ cannot be read", Err: err, Hint: "give the path of a file, or the value itself",
			}
		}
		defer f.Close()
		return readAll(f)
	}
	return []byte(v), nil
}

func readAll(r io.Reader) ([]byte, error) {
	const limit = 16 << 20
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "value", Message: "cannot be read", Err: err}
	case len(data) > limit:
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "value", Message: "is larger than 16 MiB"}
	}
	return data, nil
}
