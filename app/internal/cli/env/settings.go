package env

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
)

// Lenient is an annotation of commands that also run where the configuration file is at fault, or names
// a context that is gone.
const Lenient = "posthouse_lenient"

// ReadSettings sets the flags that were not given, from the environment and the configuration file.
func (e *Env) ReadSettings(flags *pflag.FlagSet, lenient bool) error {
	file, err := e.readConfig(flags)
	if err != nil && !lenient {
		return err
	}
	e.File, e.ConfigFault = file, err
	r := settings.Reader{Getenv: e.Getenv, Kept: e.kept, File: file}
	err = r.Read(flags)
	e.passed = r.Notes
	if err != nil {
		return err
	}
	if e.Context != "" && flags.Lookup("context") != nil {
		before := e.TokenFile
		x, err := cmp.Or(file, &settings.ConfigFile{}).Choose(flags, e.Context)
		if err != nil {
			if !lenient {
				return err
			}
			e.ConfigFault = errors.Join(e.ConfigFault, err)
		}
		if x != nil {
			e.chosen = &choice{x, before}
		}
	}
	return e.chooseFormat(flags)
}

// ConfigPath returns the path of the configuration file, and whether it was named. "" is no file.
func (e *Env) ConfigPath() (path string, named bool) {
	if e.Config != "" {
		return e.Config, true
	}
	return settings.DefaultConfig(e.Getenv), false
}

// readConfig reads the configuration file. One that was not named need not be there.
func (e *Env) readConfig(flags *pflag.FlagSet) (*settings.ConfigFile, error) {
	if f := flags.Lookup("config"); f != nil && !f.Changed {
		e.Config = e.Getenv(settings.VariableOf("config"))
	}
	path, named := e.ConfigPath()
	if path == "" {
		return nil, nil
	}
	file, err := settings.LoadConfig(path, e.ConfigKeys)
	if err != nil {
		if !named && errors.Is(err, posthouse.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	return file, nil
}

// kept reports whether the data directory has a store of its own.
func (e *Env) kept() bool {
	dir, err := e.Dir()
	if err != nil {
		return false
	}
	_, err = os.Stat(strings.TrimPrefix(dir.StoreURL(), "sqlite:"))
	return err == nil
}

// Passed returns what was passed over in the environment, and why.
func (e *Env) Passed() []string { return e.passed }

// Doubts returns what is odd about the environment, a sentence each.
func (e *Env) Doubts() []string {
	said := append([]string{}, e.passed...)
	for _, u := range e.Unknown {
		said = append(said, u.String())
	}
	return said
}

// WarnOfSettings logs the [Env.Doubts].
func (e *Env) WarnOfSettings(log *slog.Logger) {
	for _, doubt := range e.Doubts() {
		log.Warn(doubt)
	}
}
