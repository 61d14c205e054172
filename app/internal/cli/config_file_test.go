package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/store/memstore"
)

// configured returns a directory of command lines that have a home with a configuration file.
func configured(t *testing.T, text string) (d *clitest.Dir, path string) {
	t.Helper()
	d = clitest.New(t)
	d.Vars = map[string]string{"HOME": t.TempDir()}
	path = filepath.Join(d.Vars["HOME"], ".config", "posthouse", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return d, path
}

// TestConfigFileOfACommandLine: the file counts for every command, after flags and variables, and config
// show says where each setting is from.
func TestConfigFileOfACommandLine(t *testing.T) {
	d, path := configured(t, "addr: 127.0.0.1:0\nallowed-host: [a.example.com]\noutput: yaml\nlog-level: error\n")
	clitest.Wants(t, "version", d.Run(0, "version"), "version: ")
	clitest.Wants(t, "version --json", d.Run(0, "version", "--json"), `"version"`)
	d.Vars["POSTHOUSE_ADDR"] = "127.0.0.1:9"
	clitest.Wants(t, "config show", d.Run(0, "config", "show", "-o", "table"), "configuration file: "+path,
		" variable  POSTHOUSE_ADDR", "config    "+path+":2", "config    "+path+":4")
	delete(d.Vars, "POSTHOUSE_ADDR")
	if err := d.Serve(nil, func(h *host.Host) {
		if strings.HasSuffix(h.URL, ":8095") {
			t.Errorf("serve does not read the file: it is at %s", h.URL)
		}
	}); err != nil {
		t.Error(err)
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	clitest.Wants(t, "a file that is not there", d.Run(3, "version", "--config", other), "name a file that is there")
	if err := os.WriteFile(other, []byte("adr: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"version"}, {"config", "show"}, {"inbox"}, {"context", "use", "prod"}} {
		clitest.Wants(t, strings.Join(args, " "), d.Run(2, append(args, "--config", other, "-o", "table")...), other+`:1: "adr" is no setting`, "did you mean addr?")
	}
}

// TestForeignVariables are shown without their secrets.
func TestForeignVariables(t *testing.T) {
	d := clitest.New(t)
	d.Vars = map[string]string{
		"AWS_REGION": "eu-north-1", "AWS_SECRET_ACCESS_KEY": "hunter2", "OTEL_SERVICE_NAME": "shop", "OTEL_EXPORTER_OTLP_HEADERS": "auth=hunter2",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:hunter2@collector",
	}
	out := d.Run(0, "config", "show", "--store", "s3://bucket/x")
	clitest.Wants(t, "config show", out, "AWS_REGION", "eu-north-1", "AWS_SECRET_ACCESS_KEY", "OTEL_SERVICE_NAME", "shop", "OTEL_EXPORTER_OTLP_HEADERS")
	if strings.Contains(out, "hunter2") {
		t.Errorf("a secret is shown:\n%s", out)
	}
	if out := d.Run(0, "config", "show"); strings.Contains(out, "AWS_") {
		t.Errorf("without a bucket it shows\n%s", out)
	}
}

// TestContextsOfACommandLine names two servers and asks one after the other.
func TestContextsOfACommandLine(t *testing.T) {
	desk := clitest.OpenDesk(t, memstore.New())
	desk.Ask("order-1", "acme")
	d, path := configured(t, "# mine\n")
	clitest.Wants(t, "no contexts", d.Run(0, "context", "list"), "no contexts")
	clitest.Wants(t, "a context without a server", d.Run(2, "context", "add", "desk"), "server is required")
	clitest.Wants(t, "a context with no address", d.Run(2, "context", "add", "desk", "--server", "nowhere"), "is no address of a server")
	token := filepath.Join(desk.Path, "token")
	clitest.Wants(t, "context add", d.Run(0, "context", "add", "desk", "--server", desk.URL, "--token-file", token), "next: posthouse context use desk")
	d.Run(0, "context", "add", "gone", "--server", "http://127.0.0.1:1", "--use")
	clitest.Wants(t, "the inbox of a server that is gone", d.Run(7, "inbox"), "no server answers at http://127.0.0.1:1")
	clitest.Wants(t, "the inbox of the other", d.Run(0, "inbox", "--context", "desk"), "Pay this order?", "--context desk")
	d.Run(0, "context", "add", "bare", "--server", desk.URL)
	d.Vars["POSTHOUSE_TOKEN_FILE"] = token
	clitest.Wants(t, "the inbox of one without a token", d.Run(6, "inbox", "--context", "bare"), "context bare has no token file", "posthouse context add bare --server "+desk.URL+" --token-file FILE")
	clitest.Wants(t, "the inbox with a token of the command line", d.Run(0, "inbox", "--context", "bare", "--token-file", token), "Pay this order?")
	delete(d.Vars, "POSTHOUSE_TOKEN_FILE")
	d.Run(0, "context", "remove", "bare")
	d.Run(0, "context", "use", "desk")
	clitest.Wants(t, "the inbox of the one in use", d.Run(0, "inbox"), "Pay this order?")
	clitest.Wants(t, "context list", d.Run(0, "context", "list"), "desk", "current", token)
	clitest.Wants(t, "config show", d.Run(0, "config", "show"), "context desk, "+path)
	clitest.Wants(t, "an unknown context", d.Run(3, "inbox", "--context", "dsk"), `there is no context "dsk"`, "there is desk, gone")
	clitest.Wants(t, "using an unknown context", d.Run(3, "context", "use", "dsk"), "there is desk, gone")
	clitest.Wants(t, "a name twice", d.Run(4, "context", "add", "desk", "--server", desk.URL), "there is a context desk")
	d.Run(0, "context", "remove", "desk")
	if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), "# mine\n") || strings.Contains(string(data), "desk") {
		t.Errorf("the file is %s, %v", data, err)
	}
	if err := os.WriteFile(path, []byte("context: lost\ncontexts: {gone: {server: http://127.0.0.1:1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Wants(t, "a context in use that is gone", d.Run(3, "inbox"), `there is no context "lost"`)
	d.Run(0, "context", "use", "gone")
	clitest.Wants(t, "the one that was chosen instead", d.Run(7, "inbox"), "http://127.0.0.1:1")
}
