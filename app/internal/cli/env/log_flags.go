package env

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
)

// LogFlags are the flags of what a command that goes on logs, and how.
type LogFlags struct {
	Level  slog.LevelVar // what is logged; it may be set while the command runs
	level  string
	format string
}

// Add adds the flags. The level is that which is logged without a flag.
func (l *LogFlags) Add(f *pflag.FlagSet, level string) {
	f.StringVar(&l.level, "log-level", level, "debug, info, warn or error; goes to standard error")
	f.StringVar(&l.format, "log-format", "text", "text, or json: an object a line, for collectors")
}

// Logger returns a logger to w as the flags say. [posthouse.ErrInvalid] names the flag at fault.
func (l *LogFlags) Logger(w io.Writer) (*slog.Logger, error) {
	level, err := ParseLevel("log-level", l.level)
	if err != nil {
		return nil, err
	}
	l.Level.Set(level)
	o := slog.HandlerOptions{Level: &l.Level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &o)), nil
	}
	return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "log-format", Message: "is neither text nor json"}
}

// ParseLevel reads the name of a level; field is what it was given as.
func ParseLevel(field, name string) (l slog.Level, err error) {
	if err := l.UnmarshalText([]byte(name)); err != nil {
		return l, &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "is not one of debug, info, warn and error"}
	}
	return l, nil
}
