package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A System is the part of a file system that makes directories. Tests have one that
// loses what was not synced.
type System interface {
	Stat(path string) (fs.FileInfo, error)
	Mkdir(path string, mode fs.FileMode) error
	Sync(dir string) error // makes the names in a directory durable
}

// Dirs makes directories in a file system, the zero value in that of this machine.
type Dirs struct{ System System }

func (d Dirs) system() System {
	if d.System == nil {
		return osSystem{}
	}
	return d.System
}

// MakeAll makes a directory and its parents, as os.MkdirAll does, each durable
// when it returns. Directories that are there already are synced into their parents
// as well, since the process that made them may have been killed before. Of that
// only I/O errors are returned: this process may not be allowed to do it.
func (d Dirs) MakeAll(dir string, mode fs.FileMode) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	info, err := d.system().Stat(dir)
	parent := filepath.Dir(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("is a file")}
	case err == nil:
		return d.syncParents(dir)
	case parent == dir:
		return err
	}
	if err := d.MakeAll(parent, mode); err != nil {
		return err
	}
	if err := d.system().Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := d.Sync(dir); err != nil {
		return err
	}
	return d.Sync(parent)
}

// syncParents makes the names of a directory that is there, and of those above it,
// durable where it can.
func (d Dirs) syncParents(dir string) error {
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if err := d.Sync(parent); errors.Is(err, syscall.EIO) {
			return err
		}
	}
	return nil
}

// Sync makes the names in a directory durable, where the system has such a call.
func (d Dirs) Sync(dir string) error { return d.system().Sync(dir) }

type osSystem struct{}

func (osSystem) Stat(path string) (fs.FileInfo, error)     { return os.Stat(path) }
func (osSystem) Mkdir(path string, mode fs.FileMode) error { return os.Mkdir(path, mode) }
func (osSystem) Sync(dir string) error                     { return syncDir(dir) }
