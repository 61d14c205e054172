package doctor_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/cli/doctor"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/server/tokens"
)

// free returns an address on this machine that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// examine runs doctor and returns what it found, by check and state.
func examine(t *testing.T, d *clitest.Dir, code int, args ...string) map[string]doctor.Finding {
	t.Helper()
	var all []doctor.Finding
	out := d.Run(code, append([]string{"doctor", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	by := map[string]doctor.Finding{}
	for _, f := range all {
		by[f.Check+" "+string(f.State)] = f
		if f.State != doctor.OK && f.State != doctor.Note && f.Do == "" && f.Check != "variables" {
			t.Errorf("of %+v it does not say what to do", f)
		}
	}
	return by
}

// found reports checks that an examination lacks, and faults of other checks.
func found(t *testing.T, by map[string]doctor.Finding, want ...string) {
	t.Helper()
	for _, w := range want {
		if _, ok := by[w]; !ok {
			t.Errorf("it does not find %s: %+v", w, by)
		}
	}
	for key := range by {
		if strings.HasSuffix(key, " fault") && !strings.Contains(strings.Join(want, ","), key) {
			t.Errorf("it finds %+v as well", by[key])
		}
	}
}

// TestHealthy: before the first start nothing is wrong, beside a server all is well, and what is shown to
// people ends with the counts.
func TestHealthy(t *testing.T) {
	d := clitest.New(t)
	d.Path = filepath.Join(d.Path, "new")
	addr := free(t)
	by := examine(t, d, 0, "--addr", addr, "--server", "http://"+addr)
	found(t, by, "data directory note", "store note", "server note", "port ok", "variables ok", "clock ok")
	if _, err := os.Stat(d.Path); err == nil {
		t.Error("doctor made the data directory")
	}
	h, stop := d.Live(&clitest.Buffer{})
	d.Save(h, "order-1", "state")
	by = examine(t, d, 0, "--server", h.URL)
	found(t, by, "data directory ok", "signing key ok", "tokens ok", "store ok", "server ok", "token of commands ok")
	clitest.Wants(t, "for people", d.Run(0, "doctor", "--server", h.URL), "ok       store: sqlite:", "0 faults, 0 warnings")
	stop()
}

// TestMakers: tokens of earlier versions are named, and those that count as their makers; others are not.
func TestMakers(t *testing.T) {
	d := clitest.New(t)
	h, stop := d.Live(&clitest.Buffer{})
	defer stop()
	ts, err := tokens.Open(d.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Path, tokens.File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	early := `"tokens": [{"name":"early","role":"viewer","hash":"` + strings.Repeat("ab", 32) + `","createdAt":"2026-01-01T00:00:00Z"},`
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"tokens": [`, early, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*tokens.CreateOptions{"by-hand": nil, "second": {Maker: tokens.Maker{Name: "ops"}}} {
		if _, err := ts.Create(name, tokens.Approver, o); err != nil {
			t.Fatal(err)
		}
	}
	said := d.Run(0, "doctor", "--server", h.URL)
	clitest.Wants(t, "doctor", said, "each counts as a separate person: early\n", "each counts as its maker: second (made by ops)\n")
	clitest.Wants(t, "confirm", d.Run(0, "token", "confirm", "second"), "confirmed: second")
	if said := d.Run(0, "doctor", "--server", h.URL); strings.Contains(said, "second (made") || strings.Contains(said, "by-hand") {
		t.Errorf("once it is confirmed doctor says\n%s", said)
	}
}

// TestFaults breaks one thing after the other: each is found, with what to do.
func TestFaults(t *testing.T) {
	d := clitest.New(t)
	d.Vars = map[string]string{}
	if err := d.Serve(nil, func(h *host.Host) { d.Save(h, "order-1", "state") }); err != nil {
		t.Fatal(err)
	}
	addr := free(t)
	run := func(want ...string) map[string]doctor.Finding {
		t.Helper()
		code := 0
		if strings.Contains(strings.Join(want, ","), " fault") {
			code = posthouse.ExitFailure
		}
		by := examine(t, d, code, "--addr", addr, "--server", "http://"+addr)
		found(t, by, want...)
		return by
	}
	run("store ok", "signing key ok")

	d.Vars["POSTHOUSE_ADDDR"] = ":1"
	if f := run("variables fault")["variables fault"]; !strings.Contains(f.About, "did you mean POSTHOUSE_ADDR?") {
		t.Errorf("of a misspelt variable it says %+v", f)
	}
	delete(d.Vars, "POSTHOUSE_ADDDR")

	config := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(config, []byte("adr: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Vars["POSTHOUSE_CONFIG"] = config
	if f := run("configuration file fault")["configuration file fault"]; !strings.Contains(f.Do, "did you mean addr?") {
		t.Errorf("of a bad configuration file it says %+v", f)
	}
	delete(d.Vars, "POSTHOUSE_CONFIG")

	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	found(t, examine(t, d, 1, "--addr", addr, "--server", "http://"+free(t)), "port fault")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	if runtime.GOOS != "windows" {
		if err := os.Chmod(d.Path, 0o755); err != nil {
			t.Fatal(err)
		}
		run("data directory warning")
		if err := os.Chmod(filepath.Join(d.Path, "token"), 0o644); err != nil {
			t.Fatal(err)
		}
		run("token of commands fault", "server fault") // no command works with it
		if err := os.Chmod(filepath.Join(d.Path, "token"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	breakFile(t, d, "signing.key", "no key", func() { run("signing key fault") })
	breakFile(t, d, "encryption.keys", "no keys", func() { run("encryption keys fault") })
	breakFile(t, d, "posthouse.db", strings.Repeat("no database", 1000), func() { run("store fault") })
	d.Run(0, "token", "revoke", "operator", "--yes")
	by := examine(t, d, 0, "--addr", addr, "--server", "http://"+addr)
	if _, ok := by["tokens note"]; !ok {
		t.Errorf("without a token it finds %+v", by)
	}
	d.Run(0, "token", "create", "--name", "v", "--role", "viewer")
	run("tokens fault")
}

// breakFile puts a text into the place of a file of the data directory, while do runs.
func breakFile(t *testing.T, d *clitest.Dir, name, text string, do func()) {
	t.Helper()
	path := filepath.Join(d.Path, name)
	before, err := os.ReadFile(path)
	there := err == nil
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	do()
	if there {
		err = os.WriteFile(path, before, 0o600)
	} else {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
