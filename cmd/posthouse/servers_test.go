package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/pgtest"
	"github.com/posthouse/posthouse/internal/redistest"
)

// servers are the addresses of private servers, by name.
var servers = map[string]func(t *testing.T) string{
	"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	"redis":    func(t *testing.T) string { return redistest.URL(t) },
}

// command runs a command line and returns its output. It fails the test unless it exits 0.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "posthouse", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("posthouse %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// TestStoreCheck: a server is judged in namespaces of its own, by a process that is killed
// among others, and nothing of them is left.
func TestStoreCheck(t *testing.T) {
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
				t.Errorf("%+v", report)
			}
		})
	}
}
