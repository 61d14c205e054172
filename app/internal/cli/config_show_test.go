package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
)

// TestUnknownSettings starts serve and worker with a misspelt variable: each says which is meant.
func TestUnknownSettings(t *testing.T) {
	d := clitest.New(t)
	d.Vars = map[string]string{"POSTHOUSE_ADDDR": ":1", "POSTHOUSE_SERVICE_HOST": "10.0.0.1"}
	const meant = "POSTHOUSE_ADDDR is no setting: did you mean POSTHOUSE_ADDR?"
	for _, args := range [][]string{
		{"serve", "--ephemeral", "--store", "sqlite:x"}, // it ends at once
		{"worker"},
	} {
		out := d.Run(posthouse.ExitUsage, args...)
		if strings.Count(out, "is no setting") != 1 || !strings.Contains(out, meant) {
			t.Errorf("%v says:\n%s", args, out)
		}
	}
	clitest.Wants(t, "config show", d.Run(posthouse.ExitOK, "config", "show"), meant)
	clitest.Wants(t, "config show --strict", d.Run(posthouse.ExitUsage, "config", "show", "--strict"), meant)
	d.Vars = nil
	d.Run(posthouse.ExitOK, "config", "show", "--strict")
}

// TestConfigShow has settings of all origins: each is told from where it is, and no secret is.
func TestConfigShow(t *testing.T) {
	d := clitest.New(t)
	d.Vars = map[string]string{
		"POSTHOUSE_LOG_LEVEL": "info", "POSTHOUSE_TOKEN": "hunter2", "PORT": "8080",
		"DATABASE_URL": "postgres://me:hunter2@db/x",
	}
	show := func(args ...string) map[string]string {
		t.Helper()
		out := d.Run(posthouse.ExitOK, append([]string{"config", "show", "--json"}, args...)...)
		if strings.Contains(out, "hunter2") {
			t.Errorf("a secret is shown:\n%s", out)
		}
		var answer struct {
			Settings []struct{ Name, Value, Origin, From string }
			Unknown  []struct{ Variable string }
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Unknown == nil || len(answer.Unknown) > 0 {
			t.Errorf("%v, %+v:\n%s", err, answer.Unknown, out)
		}
		all := map[string]string{}
		for _, s := range answer.Settings {
			all[s.Name] = strings.TrimSpace(s.Value + " " + s.Origin + " " + s.From)
		}
		return all
	}
	want := func(all map[string]string, name, says string) {
		t.Helper()
		if all[name] != says {
			t.Errorf("%s: %q, want %q", name, all[name], says)
		}
	}
	all := show("--server", "http://h:1")
	want(all, "server", "http://h:1 flag --server")
	want(all, "log-level", "info variable POSTHOUSE_LOG_LEVEL")
	want(all, "token", "xxxxx variable POSTHOUSE_TOKEN")
	want(all, "addr", "127.0.0.1:8080 fallback PORT")
	want(all, "store", "postgres://me:xxxxx@db/x fallback DATABASE_URL")
	want(all, "encrypt", "false default")

	secret := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(secret, []byte("postgres://me:hunter2@file/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Vars["POSTHOUSE_STORE_FILE"] = secret
	want(show(), "store", "postgres://me:xxxxx@file/x file POSTHOUSE_STORE_FILE, "+secret)
	delete(d.Vars, "POSTHOUSE_STORE_FILE")
	if err := os.WriteFile(filepath.Join(d.Path, "posthouse.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(show(), "store", "default")
	clitest.Wants(t, "with a store of the directory's own", d.Run(posthouse.ExitOK, "config", "show"), "DATABASE_URL is not used")
}
