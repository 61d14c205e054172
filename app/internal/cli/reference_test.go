package cli_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/reference"
	"github.com/posthouse/posthouse/cmd/posthouse/sample"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/task/natslink"
)

var update = flag.Bool("update", false, "write the pages of docs/reference")

// released is what the binary of a release adds to the command line, as far as flags go.
func released() cli.Config {
	p := sample.Programs("")
	none := func(context.Context, *host.Env) (*host.Set, error) { return &host.Set{}, nil }
	return cli.Config{
		OpenLink: natslink.Open, SignIn: func(*signin.Options) (signin.Provider, error) { return nil, nil },
		Dev: &cli.Dev{About: p.Dev.About, Programs: none, Demo: &cli.Demo{About: p.Dev.Demo.About, Programs: none}},
	}
}

// written compares a page with the file of that name in docs/reference, or writes it.
func written(t *testing.T, name string, page []byte) {
	t.Helper()
	path := filepath.Join("../../../docs/reference", name)
	if *update {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now, page) {
		t.Errorf("docs/reference/%s does not say what the code says; go test ./app/internal/cli -run TestReference -update mends it\n%s", name, diff.Diff("committed", now, "of the code", page))
	}
}

// TestReferenceOfCommands compares docs/reference/cli.md with the commands.
func TestReferenceOfCommands(t *testing.T) {
	c := released()
	page := reference.Commands(cli.Root(&c))
	clitest.Wants(t, "the page of commands", string(page), "### posthouse serve\n", "| `--addr string` | `127.0.0.1:8095` |", "#### posthouse thread list\n", "## Exit codes", "| `8` | damage found |")
	written(t, "cli.md", page)
}

// TestReferenceOfSettings compares docs/reference/configuration.md with the flags, the variables and the
// files that are read.
func TestReferenceOfSettings(t *testing.T) {
	c := released()
	root := cli.Root(&c)
	s := &reference.Settings{VariableOf: settings.VariableOf, FallsBack: func(f *pflag.Flag) []string { return settings.FallbacksOf(f) }, InFile: cli.ConfigKeys(root), Secret: settings.FileVariableOf}
	for _, v := range settings.Variables() {
		s.Others = append(s.Others, reference.Variable(v))
	}
	for _, f := range datadir.Files() {
		s.Kept = append(s.Kept, reference.File{Name: f[0], Help: f[1]})
	}
	page := reference.Configuration(root, s)
	clitest.Wants(t, "the page of settings", string(page), "`POSTHOUSE_STORE`, `POSTHOUSE_STORE_FILE`", "falls back on `DATABASE_URL`, then `REDIS_URL`", "`NO_COLOR`", "`signing.key`")
	if strings.Contains(string(page), "### Others") {
		t.Error("a flag of serve has no group in app/internal/reference")
	}
	written(t, "configuration.md", page)
}

// TestReferenceOfRoutes compares docs/reference/http.md and objects.md with what a server says of itself.
func TestReferenceOfRoutes(t *testing.T) {
	d := clitest.New(t)
	d.Config = released()
	h, stop := d.Live(io.Discard, "dev", "--ephemeral")
	defer stop()
	res, err := http.Get(h.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	doc, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	routes, objects, err := reference.Routes(doc)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Wants(t, "the page of routes", string(routes), `### POST /api/gates/\{id\}/approve`, "Role: approver.", `curl -X POST "$POSTHOUSE/api/gates/ID/approve" -H "Authorization: Bearer $TOKEN"`, "objects.md#checkpoint")
	clitest.Wants(t, "the page of objects", string(objects), "\n## Gate\n", "| `expiresAt` | time |")
	written(t, "http.md", routes)
	written(t, "objects.md", objects)
}

// foreign are variables that are read and are no setting of ours, each with its reason.
var foreign = map[string]string{
	"OPENAI_API_KEY": "the module that init writes is its owner's", "OPENAI_BASE_URL": "likewise", "OPENAI_MODEL": "likewise",
}

// TestVariablesAreInTheReference finds variables that the code reads and the reference does not name.
func TestVariablesAreInTheReference(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`(?:[gG]etenv|LookupEnv)\("([A-Za-z_0-9]+)"\)`)
	found := 0
	for _, dir := range []string{"app", "cmd", "server", "store", "worker", "task", "otel", "oidc", "mail", "slack", "release"} {
		err := filepath.WalkDir(filepath.Join("../../..", dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains([]string{"storetest", "stresstest"}, filepath.Base(filepath.Dir(path))) {
				return err
			}
			src, err := os.ReadFile(path)
			for _, m := range read.FindAllSubmatch(src, -1) {
				found++
				if name := string(m[1]); foreign[name] == "" && !bytes.Contains(page, []byte("`"+name+"`")) {
					t.Errorf("%s reads %s, which settings.Variables does not name", path, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("only %d variables are read", found)
	}
}
