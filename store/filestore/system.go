package filestore

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse/internal/base/durable"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// A system is the part of a file system that the store uses. All names are below the
// store's directory. Tests have one that loses what was not synced, and one that fails.
type system interface {
	Open(name string, write bool) (file, error)
	Create(name string) (file, error) // empty, even if there was one
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string) error
	SyncDir(name string) error // makes the names in it durable
	List(dir string) ([]string, error)
	Close() error
}

// A file is an open file.
type file interface {
	ReadAt(b []byte, at int64) (int, error)
	WriteAt(b []byte, at int64) (int, error)
	Truncate(size int64) error
	Sync() error // makes its content and length durable
	Size() (int64, error)
	Close() error
}

// rooted is a directory of this machine, which no name leads out of.
type rooted struct {
	*os.Root
	path string
}

func openRoot(path string) (system, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return rooted{r, path}, nil
}

func (r rooted) Open(name string, write bool) (file, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	return r.open(name, flag)
}

func (r rooted) Create(name string) (file, error) {
	return r.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (r rooted) open(name string, flag int) (file, error) {
	f, err := r.Root.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (r rooted) Mkdir(name string) error { return r.Root.Mkdir(name, dirMode) }

func (r rooted) SyncDir(name string) error {
	return durable.Dirs{}.Sync(filepath.Join(r.path, filepath.FromSlash(name)))
}

func (r rooted) List(dir string) (names []string, err error) {
	d, err := r.Root.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err = d.Readdirnames(-1)
	return names, cmp.Or(err, d.Close())
}

type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
