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

// varying is what differs from run to run and from machine to machine.
var varying = regexp.MustCompile(`ed25519:[0-9a-f]{16}|[0-9a-f]{64}|\d{4}-\d\d-\d\d[T ][0-9:.]+Z?|\d+(\.\d+)? (KiB|B)\b|(PID +|kill -9 )\d+|code=once_\w+|\b\d+(\.\d+)?(ms|s)\b|worker-\w+| +|\(cached\)`)

var took = regexp.MustCompile(`(?m)^took +\S+\n`) // it is left out below a millisecond

// sketch is a text without that.
func sketch(text string) string {
	names := map[string]string{}
	text = uuid.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("id-%d", len(names))
		}
		return names[id]
	})
	return varying.ReplaceAllString(took.ReplaceAllString(text, ""), "…")
}

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
