package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
)

// Backup implements [posthouse.Backuper]: it writes the store as it is at one
// moment to a new file at path, which Open can open. Writers and readers go on
// meanwhile. The file is on the disk when Backup returns nil and gone when it
// fails. [posthouse.ErrExists] if something is at path.
func (s *Store) Backup(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return &posthouse.Error{
			Code: posthouse.CodeExists, Message: path + " exists already", Hint: "name a file that does not", Err: err,
		}
	}
	if err != nil {
		return fileError("create", path, err)
	}
	err = f.Close()
	if err == nil {
		err = s.copyTo(ctx, path)
	}
	if err == nil {
		err = syncFile(path)
	}
	if err != nil {
		return first(err, os.Remove(path))
	}
	return nil
}

func (s *Store) copyTo(ctx context.Context, path string) error {
	if s.closed.Load() {
		return s.closedError()
	}
	c, err := s.readers.get(ctx)
	if err != nil {
		return s.wrap("back up", err)
	}
	stop := c.interruptible(ctx)
	stmt, _, err := c.PrepareTransient("VACUUM INTO ?1")
	if err == nil {
		stmt.BindText(1, path)
		err = first(drain(stmt), stmt.Finalize())
	}
	stop()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	s.readers.put(c, err != nil)
	return s.wrap("back up", err)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return err
}
