package project

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse/internal/base/filelock"
)

const (
	workspaceName = "posthouse-dev-" // and random digits
	lockName      = "lock"
)

// A workspace is a directory for what one loop builds. Its lock says that the loop lives: a process that
// is killed gives it back.
type workspace struct {
	dir  string
	lock *filelock.Lock
}

// newWorkspace makes a workspace in a directory for temporary files.
func newWorkspace(in string) (*workspace, error) {
	dir, err := os.MkdirTemp(in, workspaceName)
	if err != nil {
		return nil, err
	}
	lock, err := filelock.Take(filepath.Join(dir, lockName))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &workspace{dir, lock}, nil
}

// remove removes the workspace, and then gives its lock back, so that no process takes it in between.
func (w *workspace) remove() error {
	return errors.Join(os.RemoveAll(w.dir), w.lock.Close())
}

// removeLeft removes the workspaces of loops that were killed, as far as it may. One without a lock file
// is being made.
func removeLeft(in string) {
	all, _ := filepath.Glob(filepath.Join(in, workspaceName+"*", lockName)) // the pattern is well formed
	for _, path := range all {
		if info, err := os.Lstat(filepath.Dir(path)); err != nil || !info.IsDir() {
			continue // a link leads elsewhere
		}
		lock, err := filelock.TakeBeside(path)
		if err != nil || lock == nil {
			continue // its loop lives, or it is another user's
		}
		_ = (&workspace{filepath.Dir(path), lock}).remove() // the next start tries again
	}
}
