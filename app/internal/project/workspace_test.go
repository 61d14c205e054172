package project

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWorkspacesOfTheDeadAreRemoved keeps that of a loop that lives, what is not a workspace, and what a
// link leads to.
func TestWorkspacesOfTheDeadAreRemoved(t *testing.T) {
	in, elsewhere := t.TempDir(), t.TempDir()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	alive, err := newWorkspace(in)
	ok(err)
	dead, err := newWorkspace(in)
	ok(err)
	ok(os.WriteFile(filepath.Join(dead.dir, "program"), []byte("x"), 0o700))
	ok(dead.lock.Close()) // as the end of its process does
	other := filepath.Join(in, "posthouse-dev-unmade")
	ok(os.Mkdir(other, 0o700))
	ok(os.WriteFile(filepath.Join(elsewhere, lockName), nil, 0o600))
	ok(os.Symlink(elsewhere, filepath.Join(in, "posthouse-dev-link")))
	removeLeft(in)
	for path, want := range map[string]bool{alive.dir: true, dead.dir: false, other: true, elsewhere: true, filepath.Join(elsewhere, lockName): true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	ok(alive.remove())
	if _, err := os.Lstat(alive.dir); err == nil {
		t.Error("a loop that ends leaves its workspace")
	}
}
