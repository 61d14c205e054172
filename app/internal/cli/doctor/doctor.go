package doctor

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/cli/stores"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
)

// A State says how a thing is.
type State string

// The states, from the best to the worst.
const (
	OK      State = "ok"
	Note    State = "note"    // nothing is wrong yet
	Warning State = "warning" // it works, and should not stay so
	Fault   State = "fault"   // something does not work
)

// A Finding is what a check found.
type Finding struct {
	Check string `json:"check"` // its subject
	State State  `json:"state"`
	About string `json:"about"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// An examination is a run of doctor.
type examination struct {
	env      *env.Env
	version  string // of the binary
	store    stores.StoreFlag
	addr     string
	dir      datadir.Dir
	isNew    bool // there is no data directory yet
	now      time.Time
	findings []Finding
}

// checkTime is how long a check of the store or of the server may take.
const checkTime = 10 * time.Second

// Doctor returns the command doctor. version is that of the binary.
func Doctor(e *env.Env, version string) *cobra.Command {
	x := examination{env: e, version: version}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong on this machine, and say what to do",
		Long: `Look for what is wrong on this machine, and say what to do: configuration file and
variables, data directory, keys, tokens, store, clock, server and port. It changes nothing.

The exit code is 1 if there is a fault. That every byte of the store is what was written
is for posthouse verify.`,
		Example: `  posthouse doctor
  posthouse doctor --json | jq '.[] | select(.state == "fault")'`,
		Annotations: map[string]string{env.Lenient: "true"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.store.Add(e, cmd)
	f := cmd.Flags()
	f.StringVar(&x.addr, "addr", host.DefaultAddr, "address that serve listens on")
	settings.FallBack(f, "addr", settings.Port)
	return cmd
}

// run makes all checks and prints what they found.
func (x *examination) run(ctx context.Context) error {
	x.now = time.Now()
	x.settings()
	var err error
	x.dir, err = x.env.Dir()
	if err != nil {
		x.failed("data directory", err)
	} else {
		x.directory()
		x.keys()
		x.tokens()
		x.stored(ctx)
	}
	x.served(ctx)
	if err := x.env.Answer(x.findings, x.print); err != nil {
		return err
	}
	for _, f := range x.findings {
		if f.State == Fault {
			return env.Exit(posthouse.ExitFailure)
		}
	}
	return nil
}

func (x *examination) print() {
	e := x.env
	counts := map[State]int{}
	for _, f := range x.findings {
		counts[f.State]++
		color := map[State]string{OK: term.Good, Note: term.Quiet, Warning: term.Loud, Fault: term.Bad}[f.State]
		e.Line("%s  %s: %s", e.Paint(color, term.Pad(string(f.State), len(Warning))), f.Check, f.About)
		if f.Do != "" {
			e.Line("         %s", e.Named(f.Do))
		}
	}
	e.Line("\n%s, %s", term.Count(counts[Fault], "fault"), term.Count(counts[Warning], "warning"))
}

func (x *examination) add(check string, s State, do, about string) {
	x.findings = append(x.findings, Finding{Check: check, State: s, About: about, Do: do})
}

func (x *examination) ok(check, about string) { x.add(check, OK, "", about) }

// mend says what to do about faults with an error that has no hint.
var mend = map[string]string{
	"signing key":     "restore it from a backup; without one, move it away and start once with --new-key",
	"encryption keys": "restore the file from a backup: what is encrypted cannot be read without its keys",
	"store":           "posthouse verify says what is damaged; restore a backup",
	"tokens":          "restore tokens.json from a backup, or move it away and make tokens again",
}

// failed adds an error as a fault, with its hint.
func (x *examination) failed(check string, err error) {
	e, ok := errors.AsType[*posthouse.Error](err)
	if !ok {
		x.add(check, Fault, "", err.Error())
		return
	}
	said := *e
	said.Hint = ""
	do := e.Hint
	switch {
	case do != "":
	case errors.Is(err, fs.ErrPermission):
		do = "run it as the user that the server runs as"
	default:
		do = mend[check]
	}
	x.add(check, Fault, do, said.Error())
}

// settings are the configuration file and the variables.
func (x *examination) settings() {
	e := x.env
	path, _ := e.ConfigPath()
	switch {
	case e.ConfigFault != nil:
		x.failed("configuration file", e.ConfigFault)
	case e.File != nil:
		x.ok("configuration file", e.File.Path)
	case path != "":
		x.ok("configuration file", "there is no "+path+", and it is not needed")
	}
	for _, u := range e.Unknown {
		x.add("variables", Fault, "unset it, or correct its name: posthouse config show lists the settings", u.String())
	}
	for _, said := range e.Passed() {
		x.add("variables", Warning, "", said)
	}
	if len(e.Unknown) == 0 {
		x.ok("variables", "each that begins with POSTHOUSE_ is a setting")
	}
}
