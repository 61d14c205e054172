package env

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/term"
)

// A format is the value of --output, or of --json. It counts at once, so that what is wrong with later
// flags is said in it.
type format struct {
	env   *Env
	named bool // it is --output
	value term.Format
}

func (f *format) String() string {
	switch {
	case f.named && f.value == term.Table:
		return "table"
	case f.named:
		return string(f.value)
	}
	return strconv.FormatBool(f.value == term.JSON)
}

func (f *format) Type() string {
	if f.named {
		return "format"
	}
	return "bool"
}

func (f *format) Set(v string) error {
	if f.named {
		format, ok := term.ParseFormat(v)
		if !ok {
			return errors.New("is not one of table, json, jsonl and yaml")
		}
		f.value = format
	} else {
		yes, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("is not true or false")
		}
		f.value = term.Table
		if yes {
			f.value = term.JSON
		}
	}
	f.env.Format = f.value
	return nil
}

// chooseFormat settles which of --output and --json counts: one of the command line goes before a
// variable. Two of one kind must say the same.
func (e *Env) chooseFormat(flags *pflag.FlagSet) error {
	o, j := flags.Lookup("output"), flags.Lookup("json")
	if o == nil || j == nil {
		return nil
	}
	named, short := o.Value.(*format), j.Value.(*format)
	e.Format = named.value
	switch {
	case !j.Changed:
	case !o.Changed, settings.Of(j).Origin == settings.Flag && settings.Of(o).Origin != settings.Flag:
		e.Format = short.value
	case settings.Of(o).Origin == settings.Flag && settings.Of(j).Origin != settings.Flag:
	case short.value == term.JSON && named.value != term.JSON:
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "json", Message: "and --output " + named.String() + " exclude each other", Hint: "leave one of them out"}
	}
	return nil
}
