package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
)

// Backup implements [posthouse.Backuper]. It writes the store as it is at one moment to a
// new file at path, which [Open] can open, while writers and readers go on. The file
// appears under its name once it is whole and on the disk. A backup that fails leaves
// nothing; a backup that is killed leaves a file beside path, with a name that ends in
// .partial, which may be removed. It fails with [posthouse.ErrExists] if path exists.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return backupExists(path, nil)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // mode 0600
	if err != nil {
		return fileError("create", path, err)
	}
	partial := f.Name()
	defer func() {
		for _, name := range []string{partial, partial + "-journal"} {
			if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) && err == nil {
				err = fileError("remove", name, e)
			}
		}
	}()
	if err := f.Close(); err != nil {
		return fileError("create", path, err)
	}
	if err := s.copyTo(ctx, partial); err != nil {
		return err
	}
	if err := syncFile(partial); err != nil {
		return fileError("write", path, err)
	}
	err = os.Link(partial, path) // unlike a rename, it fails if the name is taken
	switch {
	case errors.Is(err, fs.ErrExist):
		return backupExists(path, err)
	case err != nil: // a file system without links
		if err := os.Rename(partial, path); err != nil {
			return fileError("create", path, err)
		}
	}
	if err := (durable.Dirs{}).Sync(filepath.Dir(path)); err != nil {
		return fileError("sync the directory of", path, err)
	}
	return nil
}

func backupExists(path string, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeExists, Message: path + " exists already", Hint: "name a file that does not", Err: err,
	}
}

func (s *Store) copyTo(ctx context.Context, path string) error {
	if s.lifecycle.Closed() {
		return s.lifecycle.ClosedError()
	}
	c, err := s.readers.Get(ctx)
	if err != nil {
		return s.wrap("back up", err)
	}
	c.SetInterrupt(ctx.Done())
	err = c.Run("VACUUM INTO ?1", path)
	c.SetInterrupt(nil)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	s.readers.Put(c, err != nil)
	return s.wrap("back up", err)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return cmp.Or(f.Sync(), f.Close())
}
