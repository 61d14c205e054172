package sqlitestore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// prepare makes the database file unless it exists. The file and its name are durable
// when it returns, because a commit is lost if a power cut takes the name away.
func prepare(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return posthouse.Invalid("store", "%s is a directory; name a file in it, such as %s", path, filepath.Join(path, "posthouse.db"))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fileError("open", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return fileError("create", path, err)
	}
	err = cmp.Or(f.Sync(), f.Close())
	if err == nil {
		err = durable.Dirs{}.Sync(filepath.Dir(path))
	}
	if err != nil {
		return fileError("create", path, err)
	}
	return nil
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
