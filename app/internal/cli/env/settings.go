package env

import (
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/cli/settings"
)

// ReadSettings sets the flags that were not given, from the environment.
func (e *Env) ReadSettings(flags *pflag.FlagSet) error {
	r := settings.Reader{Getenv: e.Getenv, Kept: e.kept}
	err := r.Read(flags)
	e.passed = r.Notes
	if err != nil {
		return err
	}
	return e.chooseFormat(flags)
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
