package tutorial

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/e2e/pages"
)

var (
	update   = flag.Bool("update", false, "write what the commands say into the pages")
	binary   string // the built posthouse
	checkout string // its source
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// build makes the binary in a directory of its own.
func build() (dir string, err error) {
	checkout, err = filepath.Abs("../../../..")
	if err != nil || testing.Short() {
		return "", err
	}
	dir, err = os.MkdirTemp("", "posthouse-tutorial-")
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "posthouse")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/posthouse")
	cmd.Dir, cmd.Env = checkout, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("building posthouse: %w\n%s", err, out)
	}
	return dir, nil
}

// varying is what differs from machine to machine beside what [pages.Sketch] takes out.
var varying = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s)\b|worker-\w+| +|\(cached\)`)

func sketch(text string) string { return varying.ReplaceAllString(pages.Sketch(text), "…") }

// TestPages walks through each page from an empty directory.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands do one thing at a time, in processes of their own")
	}
	for page, commands := range map[string]int{"quickstart.md": 7, "tutorial.md": 20} {
		t.Run(page, func(t *testing.T) {
			file := filepath.Join(checkout, "docs", page)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWalker(t, page)
			got := w.walk(string(text))
			if w.commands < commands {
				t.Errorf("%s has %d commands", page, w.commands)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if a, b := sketch(string(text)), sketch(got); a != b {
				t.Errorf("docs/%s does not say what the commands say; go test ./internal/proof/e2e/tutorial -update mends it\n%s",
					page, diff.Diff(page, []byte(a), "now", []byte(b)))
			}
		})
	}
}
