package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
)

// servers are the addresses of private servers, by name.
var servers = map[string]func(t *testing.T) string{
	"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	"redis":    func(t *testing.T) string { return redistest.URL(t) },
	"nats":     func(t *testing.T) string { return "nats:" + filepath.Join(t.TempDir(), "nats") },
	"s3": func(t *testing.T) string {
		t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
		t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
		return s3test.New(t).URL("bucket", "desk")
	},
}

// command runs a command line and returns its output. It fails the test unless it exits 0,
// or 1 to say that a figure missed its limit.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "posthouse", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &errs
	if err := cmd.Run(); err != nil && (args[0] != "bench" || cmd.ProcessState.ExitCode() != 1) {
		t.Fatalf("posthouse %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// TestStoreCheck: a server is judged in namespaces of its own, by a process that is killed
// among others, and nothing of them is left.
func TestStoreCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("what it runs is tested by app/internal/conform")
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			url := start(t)
			var report struct {
				Passed     int
				LeftBehind []string
				Durability struct {
					Kept, Killed bool
					Weak         []string
				}
			}
			if err := json.Unmarshal([]byte(command(t, "store", "check", url, "--only", "reopen/", "--json")), &report); err != nil {
				t.Fatal(err)
			}
			if d := report.Durability; report.Passed < 2 || !d.Kept || !d.Killed || len(d.Weak)+len(report.LeftBehind) > 0 {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// TestBenchStore: every kind of store is measured beside a bare client of its server.
func TestBenchStore(t *testing.T) {
	if testing.Short() {
		t.Skip("what it runs is tested by app/internal/bench")
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			var figures []struct{ Ours, Baseline float64 }
			if err := json.Unmarshal([]byte(command(t, "bench", "--store", start(t), "--only", "writer", "--rounds", "1", "--scale", "50", "--json")), &figures); err != nil {
				t.Fatal(err)
			}
			if len(figures) == 0 || figures[0].Ours <= 0 || figures[0].Baseline <= 0 {
				t.Errorf("figures %+v", figures)
			}
		})
	}
}
