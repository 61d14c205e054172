package sqlitestore

import (
	"context"
	"errors"
	"io/fs"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// wrap turns an error of SQLite into one of ours. doing says what failed, such as
// "read thread \"a\"". It passes on errors that are already ours, and those of a context.
func (s *Store) wrap(doing string, err error) error {
	if err == nil || layout.Refused(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + s.path, Err: err}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		e.Code = posthouse.CodeFull
		e.Hint = "nothing was written; free space on the disk and try again"
	case sqlite.ResultBusy, sqlite.ResultLocked:
		e.Code = posthouse.CodeLocked
		e.Hint = "another program holds a lock on the database; close it and try again"
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		e.Code = posthouse.CodeCorrupt
		e.Hint = "stop writing, run posthouse verify, and restore the database from a backup"
	case sqlite.ResultTooBig:
		e.Code = posthouse.CodeTooLarge
		e.Hint = "an entry must be smaller than 1 GB"
	case sqlite.ResultCantOpen, sqlite.ResultPerm, sqlite.ResultAuth, sqlite.ResultReadOnly:
		e.Hint = "check that the files and their directory can be read and written by this user"
	default:
		e.Hint = "check the disk, then open the store again and run posthouse verify"
	}
	return e
}

func fileError(doing, path string, err error) error {
	e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "store", Message: "cannot " + doing + " " + path, Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		e.Code = posthouse.CodeNotFound
	}
	if errors.Is(err, fs.ErrPermission) {
		e.Code, e.Hint = posthouse.CodeForbidden, "run as the user who owns it, or choose another data directory"
	}
	return e
}
