package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
)

var known = []string{"addr", "store", "encrypt", "max-state", "allowed-host", "task-limit", "server", "token-file", "context", "log-level"}

func configFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	for _, name := range []string{"addr", "store", "max-state", "server", "token-file", "context", "log-level"} {
		f.String(name, "", "")
	}
	f.Bool("encrypt", false, "")
	f.StringSlice("allowed-host", nil, "")
	f.StringToInt("task-limit", nil, "")
	settings.FallBack(f, "store", settings.DatabaseURL)
	return f
}

// TestConfigFile: a file sets what neither flags nor variables have set, and beats fallbacks.
func TestConfigFile(t *testing.T) {
	const text = `# ours
addr: 0.0.0.0:8443
store: postgres://me:hunter2@db/x
encrypt: true
max-state: 0x10
allowed-host: [a.example.com, b.example.com]
task-limit: {transcribe: 2, ocr: 1}
log-level: info
`
	c, err := settings.ParseConfig("c.yaml", []byte(text), known)
	if err != nil {
		t.Fatal(err)
	}
	f := configFlags()
	if err := f.Parse([]string{"--log-level", "debug"}); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"POSTHOUSE_ADDR": ":1", "DATABASE_URL": "postgres://other/y"}
	r := settings.Reader{Getenv: func(name string) string { return vars[name] }, Kept: func() bool { return false }, File: c}
	if err := r.Read(f); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"addr": ":1 variable POSTHOUSE_ADDR", "store": "postgres://me:xxxxx@db/x config c.yaml:3", "encrypt": "true config c.yaml:4",
		"max-state": "0x10 config c.yaml:5", "allowed-host": "[a.example.com,b.example.com] config c.yaml:6", "log-level": "debug flag --log-level",
		"server": " default ",
	} {
		s := settings.Of(f.Lookup(name))
		if got := s.Value + " " + string(s.Origin) + " " + s.From; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	limits, err := f.GetStringToInt("task-limit")
	if err != nil || limits["transcribe"] != 2 || limits["ocr"] != 1 {
		t.Errorf("the limits are %v, %v", limits, err)
	}
}

// TestConfigFilesThatDoNotFit are refused with the line, and with what was meant.
func TestConfigFilesThatDoNotFit(t *testing.T) {
	for text, says := range map[string]string{
		"adr: x":                `c.yaml:1: "adr" is no setting`,
		"a: 1\n":                `"a" is no setting`,
		"addr: x\naddr: y":      `c.yaml:2: "addr" is there twice`,
		"addr:":                 "c.yaml:1: addr has no value",
		"addr: ''":              "addr has no value",
		"addr: [a]":             "c.yaml:1: addr takes one value",
		"addr: {a: b}":          "addr takes one value",
		"allowed-host: [[a]]":   "allowed-host has no value",
		"encrypt: perhaps":      "c.yaml:1 does not fit --encrypt",
		"task-limit: {a: many}": "does not fit --task-limit",
		"- addr":                "is no list of names with values",
		"addr":                  "is no list of names with values",
		"addr: x\n---\naddr: y": "is no YAML",
		"addr: [":               "is no YAML",
		"\tx":                   "is no YAML",
		"addr: &a x\nstore: *a": "store is an alias",
		"<<: {addr: x}":         "a name is no text",
		"[a]: b":                "a name is no text",
		"contexts: {prod: {server: s, toke-file: x}}":        `"toke-file" is no setting`,
		"contexts: {prod: {token-file: x}}":                  "context prod has no server",
		"contexts: {a b: {server: x}}":                       "is no name of a context",
		"contexts: [prod]":                                   "is no list of names with values",
		"contexts: {prod: {server: s}, prod: {server: s}}":   "is there twice",
		"addr: " + strings.Repeat("\u00e4\n", 3) + "x: \xff": "is no YAML",
	} {
		c, err := settings.ParseConfig("c.yaml", []byte(text), known)
		if err == nil {
			r := settings.Reader{Getenv: func(string) string { return "" }, Kept: func() bool { return false }, File: c}
			err = r.Read(configFlags())
		}
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	_, err := settings.ParseConfig("c.yaml", []byte("adr: x"), known)
	if e, ok := errors.AsType[*posthouse.Error](err); !ok || !strings.Contains(e.Hint, "did you mean addr?") {
		t.Errorf("the hint is %+v", e)
	}
	for _, text := range []string{"", "\n", "# nothing\n", "null", "---\n"} {
		if c, err := settings.ParseConfig("c.yaml", []byte(text), known); err != nil || len(c.Contexts) > 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzConfig: whatever a file holds, it is read or refused, and nothing is set that is not known.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"addr: x", "a: &a [*a]", "contexts: {p: {server: s}}\ncontext: p", "? [x]\n: y", "task-limit: {a: 1}", "allowed-host: [a, b]", "x: !!binary aGk=", "addr: |\n  x\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := settings.ParseConfig("c.yaml", []byte(s), known)
		if err != nil {
			if e, ok := errors.AsType[*posthouse.Error](err); !ok || e.Field != "config" {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		flags := configFlags()
		r := settings.Reader{Getenv: func(string) string { return "" }, Kept: func() bool { return false }, File: c}
		if r.Read(flags) == nil {
			flags.Visit(func(f *pflag.Flag) {
				if !slices.Contains(known, f.Name) || settings.Of(f).Origin != settings.Config {
					t.Errorf("%q sets %s by %s", s, f.Name, settings.Of(f).Origin)
				}
			})
		}
	})
}

// TestContexts adds contexts, uses one and removes it: comments and other settings stay.
func TestContexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.yaml")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(settings.AddContext(path, known, settings.Context{Name: "prod", Server: "https://p", TokenFile: "/tokens/p"}))
	data, err := os.ReadFile(path)
	must(err)
	must(os.WriteFile(path, append([]byte("# ours\naddr: x # where\n"), data...), 0o600))
	must(settings.AddContext(path, known, settings.Context{Name: "other", Server: "http://127.0.0.1:1"}))
	must(settings.UseContext(path, known, "prod"))
	data, err = os.ReadFile(path)
	must(err)
	const want = `# ours
addr: x # where
contexts:
  prod:
    server: https://p
    token-file: /tokens/p
  other:
    server: http://127.0.0.1:1
context: prod
`
	if string(data) != want {
		t.Errorf("the file is\n%s\nwant\n%s", data, want)
	}
	for what, err := range map[string]error{
		"a context that is there":  settings.AddContext(path, known, settings.Context{Name: "prod", Server: "x"}),
		"a context without a name": settings.AddContext(path, known, settings.Context{Server: "x"}),
		"an unknown context":       settings.UseContext(path, known, "prd"),
		"another unknown context":  settings.RemoveContext(path, known, "prd"),
		"no file":                  settings.UseContext("", known, "prod"),
	} {
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	must(settings.RemoveContext(path, known, "prod"))
	must(settings.RemoveContext(path, known, "other"))
	data, err = os.ReadFile(path)
	must(err)
	if string(data) != "# ours\naddr: x # where\n" {
		t.Errorf("what is left is\n%s", data)
	}
}

// TestAContextsTokenGoesToItsServer: nothing that counts more than a context is changed by it, its token is
// not sent to another server, and its server gets no token of another.
func TestAContextsTokenGoesToItsServer(t *testing.T) {
	c, err := settings.ParseConfig("c.yaml", []byte("context: prod\ntoken-file: /top\ncontexts:\n  prod: {server: https://p, token-file: /p}\n  bare: {server: https://b}\n"), known)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args string
		vars map[string]string
		want string // server and token file
	}{
		{"", nil, "https://p /p"},
		{"--context bare", nil, "https://b "},
		{"--server https://x", nil, "https://x /top"},
		{"", map[string]string{"POSTHOUSE_SERVER": "https://v"}, "https://v /top"},
		{"", map[string]string{"POSTHOUSE_TOKEN_FILE": "/v"}, "https://p /p"},
		{"--context bare", map[string]string{"POSTHOUSE_TOKEN_FILE": "/v"}, "https://b "},
		{"--context bare --token-file /x", nil, "https://b /x"},
		{"--context prod", map[string]string{"POSTHOUSE_SERVER": "https://v", "POSTHOUSE_TOKEN_FILE": "/v"}, "https://p /p"},
		{"--context prod --server https://x", nil, "https://x /top"},
		{"--context prod --token-file /x", nil, "https://p /x"},
		{"", map[string]string{"POSTHOUSE_CONTEXT": "bare"}, "https://b "},
	} {
		f := configFlags()
		if err := f.Parse(strings.Fields(x.args)); err != nil {
			t.Fatal(err)
		}
		r := settings.Reader{Getenv: func(name string) string { return x.vars[name] }, Kept: func() bool { return false }, File: c}
		err := r.Read(f)
		if err == nil {
			_, err = c.Choose(f, f.Lookup("context").Value.String())
		}
		if got := f.Lookup("server").Value.String() + " " + f.Lookup("token-file").Value.String(); got != x.want || err != nil {
			t.Errorf("%q %v comes to %q, %v, want %q", x.args, x.vars, got, err, x.want)
		}
	}
	if _, err := c.Choose(configFlags(), "prd"); !errors.Is(err, posthouse.ErrNotFound) || !strings.Contains(err.(*posthouse.Error).Hint, "prod, bare") {
		t.Errorf("an unknown context is %v", err)
	}
}
