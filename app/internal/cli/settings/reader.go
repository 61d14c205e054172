package settings

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
)

// The variables that flags fall back on.
const (
	DatabaseURL = "DATABASE_URL" // of --store
	RedisURL    = "REDIS_URL"    // of --store, where there is no DATABASE_URL
	NATSURL     = "NATS_URL"     // of --nats
	Port        = "PORT"         // of the port of --addr
)

// FallBack has a flag fall back on a variable, unless one of some other flags is set.
func FallBack(flags *pflag.FlagSet, flag, variable string, unless ...string) {
	_ = flags.SetAnnotation(flag, fallbackKey, append([]string{variable}, unless...)) // it is there
}

// NoFallback has a flag fall back on nothing.
func NoFallback(flags *pflag.FlagSet, flag string) {
	delete(flags.Lookup(flag).Annotations, fallbackKey)
}

// A Reader sets flags from the environment.
type Reader struct {
	Getenv func(string) string
	Kept   func() bool // reports whether the data directory has a store of its own
	File   *ConfigFile // may be nil

	Notes []string // what Read passed over, and why
}

// Read sets the flags that were not given: from their variables, from the files that those
// name, from the configuration file, and then from the variables that they fall back on.
func (r *Reader) Read(flags *pflag.FlagSet) error {
	if err := r.read(flags, r.own); err != nil {
		return err
	}
	if err := r.config(flags); err != nil {
		return err
	}
	return r.read(flags, r.fallback)
}

// config sets flags from the configuration file.
func (r *Reader) config(flags *pflag.FlagSet) error {
	if r.File == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.File.values)) {
		f, v := flags.Lookup(name), r.File.values[name]
		if f == nil || f.Changed {
			continue
		}
		if err := r.File.apply(flags, f, &v); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) read(flags *pflag.FlagSet, value func(*pflag.FlagSet, *pflag.Flag) (string, Setting, error)) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || f.Name == "version" || failed != nil {
			return
		}
		v, s, err := value(flags, f)
		if err == nil && v != "" {
			err = set(flags, f, v, &s)
		}
		failed = err
	})
	return failed
}

// set sets a flag and keeps where the value is from.
func set(flags *pflag.FlagSet, f *pflag.Flag, value string, s *Setting) error {
	if err := flags.Set(f.Name, value); err != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: s.From, Message: "does not fit --" + f.Name + ": " + err.Error()}
	}
	return flags.SetAnnotation(f.Name, fromKey, []string{string(s.Origin), s.From})
}

// own returns what our own variables say of a flag: its variable, or the file that one names.
func (r *Reader) own(_ *pflag.FlagSet, f *pflag.Flag) (string, Setting, error) {
	name := VariableOf(f.Name)
	value := r.Getenv(name)
	file := ""
	if secret(f.Name) {
		file = r.Getenv(name + fileSuffix)
	}
	switch {
	case file == "":
		return value, Setting{Origin: Variable, From: name}, nil
	case value != "":
		return "", Setting{}, &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "and " + name + fileSuffix + " exclude each other", Hint: "unset one of them"}
	}
	value, err := line(name+fileSuffix, file)
	return value, Setting{Origin: File, From: name + fileSuffix + ", " + file}, err
}

// fileSuffix ends the names of variables that name a file with the value.
const fileSuffix = "_FILE"

// secrets are the flags with a value that may have a password in it. Each may be in a file.
var secrets = [...]string{"nats", "store"}

func secret(flag string) bool { return slices.Contains(secrets[:], flag) }

// maxLine is the most that a file with an address may have.
const maxLine = 64 << 10

// line returns the one line of a file, without space around it. Errors name the variable, and
// never say what is in the file.
func line(variable, path string) (string, error) {
	fault := func(message string, err error) error {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: variable, Message: message, Hint: "it is the path of a file with the address, on one line", Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fault("names a file that cannot be read", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxLine+1))
	text := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return "", fault("names a file that cannot be read", err)
	case text == "":
		return "", fault(fmt.Sprintf("names %q, which is empty", path), nil)
	case len(data) > maxLine, strings.ContainsAny(text, "\r\n\x00"):
		return "", fault(fmt.Sprintf("names %q, which has more than one line", path), nil)
	}
	return text, nil
}

// fallback returns what the variable says that a flag falls back on.
func (r *Reader) fallback(flags *pflag.FlagSet, f *pflag.Flag) (string, Setting, error) {
	by := f.Annotations[fallbackKey]
	if len(by) == 0 {
		return "", Setting{}, nil
	}
	for _, name := range by[1:] {
		other := flags.Lookup(name)
		if other != nil && other.Changed && other.Value.String() != "false" {
			return "", Setting{}, nil
		}
	}
	s := Setting{Origin: Fallback, From: by[0]}
	value := strings.TrimSpace(r.Getenv(s.From))
	if value == "" && s.From == DatabaseURL {
		s.From = RedisURL
		value = strings.TrimSpace(r.Getenv(s.From))
	}
	switch {
	case value == "":
		return "", s, nil
	case s.From == DatabaseURL:
		return r.database(s.From, value, servers[:]), s, nil
	case s.From == RedisURL:
		return r.database(s.From, value, []string{"redis", "rediss"}), s, nil
	case s.From == Port:
		addr, err := atPort(f.DefValue, value)
		return addr, s, err
	}
	return value, s, nil
}

// database returns the address in a variable if it is for us: of one of some schemes, and no store of the
// data directory's own is there.
func (r *Reader) database(variable, url string, schemes []string) string {
	scheme, _, server := strings.Cut(url, "://")
	if !server || !slices.Contains(schemes, strings.ToLower(scheme)) {
		return ""
	}
	if r.Kept() {
		r.Notes = append(r.Notes, variable+" is not used: the data directory has a store of its own (to use the other one, set "+VariableOf("store")+")")
		return ""
	}
	return url
}

// servers are the schemes that DATABASE_URL may have. Other programs mean something else than a
// store by file: and sqlite:.
var servers = [...]string{"postgres", "postgresql", "redis", "rediss", "nats", "s3"}

// atPort returns an address with another port.
func atPort(addr, port string) (string, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: Port, Message: fmt.Sprintf("is %.20q, which is no port", port), Hint: "it is what --addr falls back on: unset it, or set " + VariableOf("addr")}
	}
	host, _, err := net.SplitHostPort(addr)
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), err
}
