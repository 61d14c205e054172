package openapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/service"
)

// packages are the tools of testdata/package-lock.json, installed once for all runs with that file.
type packages struct{ dir string }

// install returns the tools. It skips the test where there is no Node, or fails it if all services are
// required.
func install(t *testing.T) *packages {
	t.Helper()
	version, err := exec.Command("node", "--version").Output()
	if err != nil || tooOld(strings.TrimSpace(string(version))) {
		service.Missing(t, "node", fmt.Sprintf("the description of the API is not tested: Node 20.19 or later is wanted, and there is %q (%v)", version, err))
	}
	lock := must.Get(os.ReadFile("testdata/package-lock.json"))(t)
	sum := sha256.Sum256(lock)
	cache := must.Get(os.UserCacheDir())(t)
	dir := filepath.Join(cache, "posthouse-proof", "openapi-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return &packages{dir}
	}
	must.Do(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"package.json", "package-lock.json"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), must.Get(os.ReadFile("testdata/"+name))(t), 0o644))
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in %s: %v\n%s", dir, err, out)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "installed"), nil, 0o644))
	return &packages{dir}
}

// tooOld reports whether a version of Node is below 20.19.
func tooOld(version string) bool {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return true
	}
	major, err := strconv.Atoi(parts[0])
	minor, wrong := strconv.Atoi(parts[1])
	return err != nil || wrong != nil || major < 20 || major == 20 && minor < 19
}

// run runs a tool by the path of its script, in a directory that has the tools, and returns its output.
func (p *packages) run(t *testing.T, dir, script string, args ...string) []byte {
	t.Helper()
	out, err := p.command(t, dir, script, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", script, args, err, out)
	}
	return out
}

func (p *packages) command(t *testing.T, dir, script string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(p.dir, "node_modules", script)}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return append(out.Bytes(), errs.Bytes()...), err
	}
	return out.Bytes(), nil
}

type sale struct {
	Item string `doc:"what is sold"`
	Paid bool
}

// serve runs a server with one program until the test is over, and calls do with it.
func serve(t *testing.T, o *app.Options, do func(url, token string)) {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	o.Programs.Open = func(_ context.Context, env *app.Env) (*app.Set, error) {
		g := graph.New[sale]("sale")
		g.Node("pay", func(ctx context.Context, s *sale) error {
			a, err := gate.Ask[any](ctx, gate.Question{Name: "pay", Text: "Sell " + s.Item + "?", AllowRequester: true})
			s.Paid = err == nil && a.Verdict == posthouse.Approve
			return err
		})
		g.Edge(graph.Start, "pay")
		g.Edge("pay", graph.End)
		a, err := g.Compile(env.Ledger, nil)
		if err != nil {
			return nil, err
		}
		return &app.Set{Programs: a.Programs()}, nil
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready := make(chan *app.Info, 1)
	o.Ready = func(i *app.Info) { ready <- i }
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, o) }()
	select {
	case i := <-ready:
		token := must.Get(os.ReadFile(i.TokenFile))(t)
		do(i.URL, strings.TrimSpace(string(token)))
		stop()
		must.Do(t, <-ended)
	case err := <-ended:
		t.Fatalf("the server ended: %v", err)
	}
}

// description returns /openapi.json in a file.
func description(t *testing.T, url string) string {
	t.Helper()
	resp := must.Get(http.Get(url + "/openapi.json"))(t)
	defer resp.Body.Close()
	path := filepath.Join(t.TempDir(), "openapi.json")
	must.Do(t, os.WriteFile(path, must.Get(io.ReadAll(resp.Body))(t), 0o644))
	return path
}

// TestLint holds the description to the recommended rules of redocly: no error, and no warning.
func TestLint(t *testing.T) {
	tools := install(t)
	serve(t, &app.Options{Dir: t.TempDir(), Store: "memory:"}, func(url, _ string) {
		path := description(t, url)
		out, err := tools.command(t, filepath.Dir(path), "@redocly/cli/bin/cli.js", "lint", path, "--extends=recommended", "--format=json")
		var report struct {
			Problems []struct {
				RuleID, Severity, Message string
				Location                  []struct{ Pointer string }
			}
			Totals map[string]int
		}
		begin := bytes.IndexByte(out, '{')
		if begin < 0 {
			t.Fatalf("redocly says nothing: %v\n%s", err, out)
		}
		must.Do(t, json.NewDecoder(bytes.NewReader(out[begin:])).Decode(&report))
		for _, p := range report.Problems {
			t.Errorf("%s %s: %s at %v", p.Severity, p.RuleID, p.Message, p.Location)
		}
		if report.Totals == nil || err != nil {
			t.Errorf("redocly ended with %v\n%s", err, out)
		}
		// The control: a description with a fault is found out.
		text := must.Get(os.ReadFile(path))(t)
		must.Do(t, os.WriteFile(path, bytes.Replace(text, []byte(`"operationId"`), []byte(`"operationName"`), 1), 0o644))
		if out, err := tools.command(t, filepath.Dir(path), "@redocly/cli/bin/cli.js", "lint", path, "--extends=recommended", "--format=json"); err == nil && bytes.Contains(out, []byte(`"totals":{"errors":0,"warnings":0`)) {
			t.Error("redocly finds no fault in a description that has one")
		}
	})
}
