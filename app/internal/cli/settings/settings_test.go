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

// read reads flags from a command line and an environment.
func read(t *testing.T, args []string, vars map[string]string, kept bool) (*pflag.FlagSet, *settings.Reader, error) {
	t.Helper()
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.String("store", "", "")
	f.String("nats", "", "")
	f.String("nats-listen", "", "")
	f.String("addr", "127.0.0.1:8095", "")
	f.Bool("ephemeral", false, "")
	settings.FallBack(f, "store", settings.DatabaseURL, "ephemeral")
	settings.FallBack(f, "nats", settings.NATSURL, "nats-listen")
	settings.FallBack(f, "addr", settings.Port)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	r := &settings.Reader{Getenv: func(name string) string { return vars[name] }, Kept: func() bool { return kept }}
	return f, r, r.Read(f)
}

// TestOrigins sets each flag by each of what may set it: the flag beats the variable, that or
// its file beats the fallback, and passwords are not shown.
func TestOrigins(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(secret, []byte(" postgres://me:hunter2@file/db \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag, says string // value, origin, from
		args       []string
		vars       map[string]string
		kept       bool
	}{
		{"addr", "127.0.0.1:8095 default ", nil, nil, false},
		{"addr", "127.0.0.1:80 fallback PORT", nil, map[string]string{"PORT": "80"}, false},
		{"addr", ":9 variable POSTHOUSE_ADDR", nil, map[string]string{"PORT": "80", "POSTHOUSE_ADDR": ":9"}, false},
		{"addr", ":7 flag --addr", []string{"--addr", ":7"}, map[string]string{"PORT": "no port", "POSTHOUSE_ADDR": ":9"}, false},
		{"store", "postgres://me:xxxxx@db/x fallback DATABASE_URL", nil, map[string]string{"DATABASE_URL": "postgres://me:hunter2@db/x"}, false},
		{"store", " default ", nil, map[string]string{"DATABASE_URL": "postgres://db/x"}, true},
		{"store", " default ", nil, map[string]string{"DATABASE_URL": "mysql://db/x"}, false},
		{"store", " default ", nil, map[string]string{"DATABASE_URL": "file:./dev.db"}, false},
		{"store", "redis://db fallback REDIS_URL", nil, map[string]string{"REDIS_URL": "redis://db"}, false},
		{"store", " default ", nil, map[string]string{"REDIS_URL": "redis://db"}, true},
		{"store", " default ", nil, map[string]string{"REDIS_URL": "postgres://db/x"}, false},
		{"store", " default ", nil, map[string]string{"REDIS_URL": "redis://db", "DATABASE_URL": "mysql://db/x"}, false},
		{"store", " default ", []string{"--ephemeral"}, map[string]string{"DATABASE_URL": "postgres://db/x"}, false},
		{"store", "sqlite:a variable POSTHOUSE_STORE", nil, map[string]string{"DATABASE_URL": "postgres://db/x", "POSTHOUSE_STORE": "sqlite:a"}, false},
		{"store", "postgres://me:xxxxx@file/db file POSTHOUSE_STORE_FILE, " + secret, nil, map[string]string{"DATABASE_URL": "postgres://db/x", "POSTHOUSE_STORE_FILE": secret}, false},
		{"store", "memory: flag --store", []string{"--store", "memory:"}, map[string]string{"POSTHOUSE_STORE_FILE": "/not/there"}, false},
		{"nats", "tls://n fallback NATS_URL", nil, map[string]string{"NATS_URL": "tls://n"}, false},
		{"nats", " default ", nil, map[string]string{"NATS_URL": "tls://n", "POSTHOUSE_NATS_LISTEN": ":4222"}, false},
	} {
		f, _, err := read(t, c.args, c.vars, c.kept)
		if err != nil {
			t.Errorf("%v %v: %v", c.args, c.vars, err)
			continue
		}
		s := settings.Of(f.Lookup(c.flag))
		says := s.Value + " " + string(s.Origin) + " " + s.From
		if says != c.says {
			t.Errorf("%s with %v %v: %q, want %q", c.flag, c.args, c.vars, says, c.says)
		}
		if got := f.Lookup("store").Value.String(); c.vars["POSTHOUSE_STORE_FILE"] == secret && got != "postgres://me:hunter2@file/db" {
			t.Errorf("the store is %q, want the file's line", got)
		}
	}
	if _, r, _ := read(t, nil, map[string]string{"DATABASE_URL": "postgres://db/x"}, true); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "DATABASE_URL") {
		t.Errorf("a store that is kept is told as %q", r.Notes)
	}
}

// TestSettingsThatDoNotFit reads bad environments: the error names the variables, and nothing
// that is in a file.
func TestSettingsThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		vars map[string]string
		says []string
	}{
		{map[string]string{"POSTHOUSE_STORE": "memory:", "POSTHOUSE_STORE_FILE": dir}, []string{"POSTHOUSE_STORE and POSTHOUSE_STORE_FILE exclude"}},
		{map[string]string{"POSTHOUSE_NATS_FILE": filepath.Join(dir, "none")}, []string{"POSTHOUSE_NATS_FILE", "cannot be read"}},
		{map[string]string{"POSTHOUSE_NATS_FILE": dir}, []string{"POSTHOUSE_NATS_FILE", "cannot be read"}},
		{map[string]string{"POSTHOUSE_NATS_FILE": file("empty", " \n")}, []string{"is empty"}},
		{map[string]string{"POSTHOUSE_NATS_FILE": file("two", "nats://a:hunter2@h\nmore")}, []string{"more than one line"}},
		{map[string]string{"POSTHOUSE_NATS_FILE": file("long", strings.Repeat("x", 1<<17))}, []string{"more than one line"}},
		{map[string]string{"POSTHOUSE_EPHEMERAL": "perhaps"}, []string{"POSTHOUSE_EPHEMERAL", "--ephemeral"}},
		{map[string]string{"PORT": "70000"}, []string{"PORT", "no port", "70000"}},
	} {
		_, _, err := read(t, nil, c.vars, false)
		if !errors.Is(err, posthouse.ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", c.vars, err)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", c.vars, err, want)
			}
		}
	}
}

// TestUnknownVariables tells variables that are misspelt from those of others.
func TestUnknownVariables(t *testing.T) {
	c := settings.NewCatalogue([]string{"addr", "store", "token-file", "data-dir", "encrypt", "key", "keys"})
	environ := strings.Fields(`POSTHOUSE_ADDR=: POSTHOUSE_TOKEN=t POSTHOUSE_STORE_FILE=f POSTHOUSE_TOKEN_FILE=f
		POSTHOUSE_PORT=tcp://10.0.0.1:8095 POSTHOUSE_SERVICE_HOST=10.0.0.1 POSTHOUSE_SERVICE_PORT=8095 POSTHOUSE_SERVICE_PORT_HTTP=8095
		POSTHOUSE_PORT_8095_TCP=t POSTHOUSE_PORT_8095_TCP_ADDR=a POSTHOUSE_PORT_8095_TCP_PORT=8095 POSTHOUSE_PORT_8095_TCP_PROTO=tcp
		POSTHOUSE_HEADLESS_SERVICE_HOST=h POSTHOUSE_HEADLESS_PORT=1 POSTHOUSE_HEADLESS_PORT_1_TCP=t
		POSTHOUSE_TASK_NAME=n POSTHOUSE_LONG=1 POSTHOUSE_REQUIRE_SERVICES=1 POSTHOUSE_TEST_POSTGRES=p PATH=/bin
		POSTHOUSE_ADDDR=: POSTHOUSE_STROE=s POSTHOUSE_ENCRYPTION_AT_REST=1 POSTHOUSE_ADDR_PORT=1 POSTHOUSE_KEY_FILE=f`)
	said := []string{}
	for _, u := range c.Unknown(environ) {
		said = append(said, u.String())
	}
	want := []string{
		"POSTHOUSE_ADDDR is no setting: did you mean POSTHOUSE_ADDR?",
		"POSTHOUSE_ADDR_PORT is no setting",
		"POSTHOUSE_ENCRYPTION_AT_REST is no setting",
		"POSTHOUSE_KEY_FILE is no setting",
		"POSTHOUSE_STROE is no setting: did you mean POSTHOUSE_STORE?",
	}
	if !slices.Equal(said, want) {
		t.Errorf("unknown: %q\nwant     %q", said, want)
	}
}
