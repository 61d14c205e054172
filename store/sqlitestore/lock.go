package sqlitestore

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/filelock"
)

// A fileLock keeps other processes from opening the store for writing. The
// operating system drops it when the process ends, however it ends; the file
// stays and says who has, or last had, the lock.
type fileLock struct{ f *os.File }

// lockSize is the length of the lock file; what it says has 57 bytes at most.
const lockSize = 64

func acquire(path string) (*fileLock, error) {
	name := path + ".lock"
	f, err := filelock.Take(name)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, lockedError(path, name)
	case err != nil:
		return nil, fileError("open", name, err)
	}
	// Always as long, so that it is written over the last: to cut the file off
	// first makes the file system write it out when it is closed.
	owner := fmt.Sprintf("%-*s\n", lockSize-1, fmt.Sprintf("pid %d\nboot %s", os.Getpid(), bootID()))
	if _, err := f.WriteAt([]byte(owner), 0); err != nil {
		_ = f.Close()
		return nil, fileError("write", name, err)
	}
	return &fileLock{f}, nil
}

func (l *fileLock) release() error { return l.f.Close() }

func lockedError(path, name string) error {
	holder := "another process"
	if b, err := os.ReadFile(name); err == nil {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		if pid, ok := bytes.CutPrefix(line, []byte("pid ")); ok && len(pid) < 20 {
			holder = fmt.Sprintf("process %s", pid)
		}
	}
	return &posthouse.Error{
		Code:    posthouse.CodeLocked,
		Message: fmt.Sprintf("%s has the store %s open for writing", holder, path),
		Hint:    "stop that process, talk to it over HTTP, or choose another data directory; reading needs no lock",
	}
}
