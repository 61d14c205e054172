package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
)

// A fileLock keeps other processes from opening the store for writing. The operating
// system releases it when the process ends. The file stays and names the process that
// holds, or last held, the lock.
//
// That file may be deleted or replaced while the store is open. So there is a second
// lock, on the write-ahead log, which exists while the store is open and cannot be
// removed without losing commits. SQLite locks nothing in that file, and the second lock
// does not prevent reading it.
type fileLock struct {
	f   *filelock.Lock
	wal *filelock.Lock // nil before guard, and on Windows, where an open file cannot be deleted
}

func acquire(path string) (*fileLock, error) {
	name := path + ".lock"
	f, err := filelock.Take(name)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, lockedError(path, name)
	case err != nil:
		return nil, fileError("open", name, err)
	}
	l := &fileLock{f: f}
	// Before the database is touched: it may be in use although the file was replaced.
	if err := l.guard(path); err != nil {
		_ = f.Close()
		return nil, err
	}
	if err := filelock.Name(f); err != nil {
		_ = l.release()
		return nil, fileError("write", name, err)
	}
	return l, nil
}

// guard takes the lock on the write-ahead log, if there is one. It takes a new lock if
// SQLite has replaced the file.
func (l *fileLock) guard(path string) error {
	name := path + "-wal"
	f, err := filelock.TakeBeside(name)
	switch {
	case errors.Is(err, filelock.ErrHeld) && l.has(name):
		return nil
	case errors.Is(err, filelock.ErrHeld):
		return lockedError(path, path+".lock")
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError("open", name, err)
	}
	old := l.wal
	l.wal = f
	if old != nil {
		_ = old.Close()
	}
	return nil
}

// has reports whether the lock is on the file that has the name now.
func (l *fileLock) has(name string) bool {
	if l.wal == nil {
		return false
	}
	mine, err := l.wal.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

func (l *fileLock) release() error {
	err := l.f.Close()
	if l.wal != nil {
		err = errors.Join(err, l.wal.Close())
	}
	return err
}

func lockedError(path, name string) error {
	return &posthouse.Error{
		Code:    posthouse.CodeLocked,
		Message: fmt.Sprintf("%s has the store %s open for writing", filelock.Holder(name), path),
		Hint:    "stop that process, talk to it over HTTP, or choose another data directory; reading needs no lock",
	}
}
