package filestore

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
)

// wrap turns an error of the operating system into one of ours. doing says what failed,
// such as "read thread \"a\"". It passes on errors that are ours, and those of a context.
func (d *directory) wrap(doing string, err error) error {
	_, ours := errors.AsType[*posthouse.Error](err)
	switch {
	case err == nil || ours || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case d.lifecycle.Closed():
		return d.lifecycle.ClosedError()
	}
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + d.path, Err: err}
	var damage *framelog.Damage
	switch {
	case isFull(err):
		e.Code = posthouse.CodeFull
		e.Hint = "nothing was written; free space on the disk and try again"
	case errors.As(err, &damage):
		e.Code = posthouse.CodeCorrupt
		e.Hint = "stop writing, run posthouse verify, and restore the file from a backup"
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "check that the files and their directories can be read and written by this user"
	default:
		e.Hint = "check the disk, then open the store again and run posthouse verify"
	}
	return e
}

// isFull reports whether there was no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// corrupt is damage in one of the store's files.
func (d *directory) corrupt(name string, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeCorrupt, Message: "the file " + name + " of the store " + d.path + " is damaged", Err: err,
		Hint: "restore it from a backup; without one, move a thread's log away to go on without that thread",
	}
}

// fileError wraps an error about a path before there is a store.
func fileError(doing, path string, err error) error {
	e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "store", Message: "cannot " + doing + " " + path, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = posthouse.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Hint = posthouse.CodeForbidden, "run as the user who owns it, or choose another data directory"
	case isFull(err):
		e.Code, e.Field = posthouse.CodeFull, ""
	}
	return e
}

func (d *directory) unknown(err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnknown, Message: "the commit to " + d.path + " failed; it may or may not be on the disk", Err: err,
		Hint: "check the disk, open the store again and append the same entry once more",
	}
}

// poison makes the store take no more writes: what its files hold is not known.
func (d *directory) poison(err error) error {
	d.lifecycle.Poison(err)
	return d.lifecycle.DamageOf(err)
}
