package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/clitest"
)

// TestTextIsUTF8 gives the commands bytes that JSON cannot carry: they are
// refused before anything is sent, not sent changed.
func TestTextIsUTF8(t *testing.T) {
	e := clitest.New(t)
	file := filepath.Join(e.Path, "odd.txt")
	if err := os.WriteFile(file, []byte("refund \xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"send", "dispatch", "please refund order \xff\xfe"},
		{"send", "dispatch", "@" + file},
		{"send", "dispatch", "text", "--thread", "a\xff"},
		{"reject", "gate-1", "--reason", "no \xff"},
		{"approve", "gate-1", "--request", "\xff"},
		{"edit", "gate-1", "--value", `"` + "\xff" + `"`},
		{"delegate", "gate-1", "--to", "\xff"},
		{"signal", "order-1", "paid", `"` + "\xff" + `"`},
		{"retain", "--keep-label", "\xff"},
	} {
		if out := e.Run(2, append(args, "--server", "http://127.0.0.1:1")...); !strings.Contains(out, "is not UTF-8") {
			t.Errorf("%q: output %s", args, out)
		}
	}
	e.Vars = map[string]string{"POSTHOUSE_REASON": "\xff"}
	if out := e.Run(2, "reject", "gate-1"); !strings.Contains(out, "reason is not UTF-8") {
		t.Errorf("from the environment: %s", out)
	}
	e.Vars = nil
	if out := e.Run(3, "verify", "--store", "sqlite:\xff.db"); strings.Contains(out, "UTF-8") {
		t.Errorf("paths are bytes: %s", out)
	}
}
