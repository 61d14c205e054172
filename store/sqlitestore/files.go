package sqlitestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// prepare makes the database file unless it exists, durable before it is used:
// a commit is worth nothing in a file whose name a power cut takes away.
func prepare(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return invalid("store", "%s is a directory; name a file in it, such as %s", path, filepath.Join(path, "posthouse.db"))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fileError("open", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return fileError("create", path, err)
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fileError("create", path, err)
	}
	return nil
}

// makeDir is os.MkdirAll with each new directory synced into its parent.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("is a file")}
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return syncDir(parent)
}

// size returns the bytes of the database and its write-ahead log.
func size(path string) (n int64) {
	for _, p := range []string{path, path + "-wal"} {
		if info, err := os.Stat(p); err == nil {
			n += info.Size()
		}
	}
	return n
}
