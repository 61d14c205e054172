package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/sqlschema"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

// openRead opens an existing database for reading. SQLite may add its -wal and -shm files
// beside the database while it reads. In a directory where it cannot, openRead opens a
// database without a write-ahead log as a file that does not change.
func (s *Store) openRead(ctx context.Context) error {
	if _, err := os.Stat(s.path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &posthouse.Error{
				Code: posthouse.CodeNotFound, Message: "there is no store at " + s.path, Err: err,
				Hint: "name the database file of a store that was opened for writing once",
			}
		}
		return fileError("open", s.path, err)
	}
	m := db.ModeRead
	c, err := s.connectRead(ctx, m)
	if isFixed(err) {
		if _, serr := os.Stat(s.path + "-wal"); !errors.Is(serr, fs.ErrNotExist) {
			return &posthouse.Error{
				Code: posthouse.CodeReadOnly, Err: err,
				Message: "the write-ahead log of " + s.path + " cannot be read in a directory that cannot be written",
				Hint:    "copy the database together with its -wal file to a directory that can",
			}
		}
		m = db.ModeImmutable
		c, err = s.connectRead(ctx, m)
	}
	if err != nil {
		return s.schemaError(err)
	}
	s.readers = db.NewPool(s.opts.Readers, c, func() (*db.Conn, error) { return s.connect(m) })
	return nil
}

// connectRead opens a connection and checks that the database is a store of ours.
func (s *Store) connectRead(ctx context.Context, m db.Mode) (*db.Conn, error) {
	c, err := s.connect(m)
	if err != nil {
		return nil, err
	}
	ms, err := migrations()
	if err == nil {
		err = s.identify(c)
	}
	if err == nil {
		err = s.holdsStore(c)
	}
	if err == nil {
		err = sqlschema.Check(ctx, schemaDB{c}, ms)
	}
	if err != nil {
		return nil, cmp.Or(err, c.Close())
	}
	return c, nil
}

// holdsStore refuses an empty file, which was never a store or has lost all content.
// Opening it for writing would make it a new store.
func (s *Store) holdsStore(c *db.Conn) error {
	id, err := c.Number("PRAGMA application_id")
	if err != nil {
		return s.wrap("read the database", err)
	}
	if id == 0 {
		return &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: s.path + " holds no store: it is empty, or was cut off",
			Hint: "restore it from a backup; where there was none, name another file",
		}
	}
	return nil
}

// isFixed reports whether SQLite could not create the files it needs for reading.
func isFixed(err error) bool {
	switch code := sqlite.ErrCode(err); code.ToPrimary() {
	case sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultPerm:
		return err != nil
	}
	return false
}
