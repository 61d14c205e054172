package settings

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/address"
)

// Prefix is what the names of our variables begin with.
const Prefix = "POSTHOUSE_"

// An Origin is the kind of place that a value is from.
type Origin string

// The origins. Each beats those after it.
const (
	Flag     Origin = "flag"     // the command line
	Variable Origin = "variable" // POSTHOUSE_NAME
	File     Origin = "file"     // which POSTHOUSE_NAME_FILE names
	Config   Origin = "config"   // the configuration file
	Fallback Origin = "fallback" // a variable that other programs read, too
	Default  Origin = "default"
)

// A Setting is a value and where it is from.
type Setting struct {
	Name   string `json:"name"`  // the flag's, without dashes
	Value  string `json:"value"` // as it is shown: passwords are left out
	Origin Origin `json:"origin"`
	From   string `json:"from,omitempty"` // the flag, the variable, or the variable with the path of the file
}

// Of returns what a flag is set to.
func Of(f *pflag.Flag) Setting {
	s := Setting{Name: f.Name, Value: f.Value.String(), Origin: Default}
	if secret(f.Name) || f.Name == "server" {
		s.Value = address.Redacted(s.Value)
	}
	switch from := f.Annotations[fromKey]; {
	case len(from) == 2:
		s.Origin, s.From = Origin(from[0]), from[1]
	case f.Changed:
		s.Origin, s.From = Flag, "--"+f.Name
	}
	return s
}

// List returns the settings of flags in the order of their names, but for some names.
func List(flags *pflag.FlagSet, but ...string) []Setting {
	all := []Setting{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !slices.Contains(but, f.Name) {
			all = append(all, Of(f))
		}
	})
	return all
}

// VariableOf returns the name of a flag's variable.
func VariableOf(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Token returns the setting of the access token itself, which is a variable and no flag.
func Token(getenv func(string) string) Setting {
	s := Setting{Name: "token", Origin: Default}
	if strings.TrimSpace(getenv(tokenVariable)) != "" {
		s.Value, s.Origin, s.From = "xxxxx", Variable, tokenVariable
	}
	return s
}

// Foreign returns the variables of an environment, lines NAME=VALUE, that other programs' libraries
// read in this one: those of S3 where the store is a bucket, and those of OpenTelemetry.
func Foreign(environ []string, store string) []Setting {
	prefixes := []string{"OTEL_"}
	if strings.HasPrefix(strings.ToLower(store), "s3:") {
		prefixes = append(prefixes, "AWS_")
	}
	all := []Setting{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if value == "" || !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if secretName.MatchString(name) {
			value = "xxxxx"
		}
		all = append(all, Setting{Name: name, Value: address.Redacted(value), Origin: Fallback, From: name})
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// secretName matches the names of variables with secrets in them.
var secretName = regexp.MustCompile(`SECRET|TOKEN|KEY|PASSWORD|HEADERS|CREDENTIAL`)

const tokenVariable = Prefix + "TOKEN"

// fromKey and fallbackKey are annotations of flags: an origin with its name, and a variable
// with the flags that exclude it.
const (
	fromKey     = "posthouse_from"
	fallbackKey = "posthouse_fallback"
)
