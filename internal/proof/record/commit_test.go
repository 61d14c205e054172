package record_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/record"
)

// TestCommit is of what a tree has, and of no tree that has more than its commit.
func TestCommit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := record.Commit(t.Context(), dir); err == nil {
		t.Error("a directory without a repository has a commit")
	}
	git("init", "-q")
	for _, name := range []string{"main.go", "docs/guarantees/records.md", "docs/record/a.jsonl"} {
		write(name, "one\n")
	}
	git("add", ".")
	git("commit", "-q", "-m", "one")
	within := filepath.Join(dir, "docs") // as a test's own directory is
	clean, err := record.Commit(t.Context(), within)
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{7,}$`).MatchString(clean) {
		t.Errorf("clean %q, error %v", clean, err)
	}
	write("docs/record/a.jsonl", "one\ntwo\n")
	write("docs/guarantees/records.md", "two\n")
	if have, err := record.Commit(t.Context(), within); err != nil || have != clean {
		t.Errorf("behind a line and its page: %q, %v", have, err)
	}
	write("docs/record.go", "two\n")
	if _, err := record.Commit(t.Context(), within); !errors.Is(err, record.ErrDirty) {
		t.Errorf("with a new file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "docs/record.go")); err != nil {
		t.Fatal(err)
	}
	write("main.go", "two\n")
	if _, err := record.Commit(t.Context(), within); !errors.Is(err, record.ErrDirty) {
		t.Errorf("with a changed file: %v", err)
	}
}
