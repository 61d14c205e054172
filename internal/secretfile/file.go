package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
)

// Load parses a file of at most limit bytes. Errors of parse name the file.
func Load[T any](path string, limit int64, parse func([]byte) (*T, error)) (*T, error) {
	return load(path, limit, false, parse)
}

// LoadSecret is Load for a file that only its owner may read.
func LoadSecret[T any](path string, limit int64, parse func([]byte) (*T, error)) (*T, error) {
	return load(path, limit, true, parse)
}

func load[T any](path string, limit int64, secret bool, parse func([]byte) (*T, error)) (*T, error) {
	data, err := read(path, limit, secret)
	if err != nil {
		return nil, err
	}
	v, err := parse(data)
	if err != nil {
		return nil, inFile(path, err)
	}
	return v, nil
}

func read(path string, limit int64, secret bool) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Failed("cannot be opened", path, err)
	}
	defer f.Close()
	st, err := f.Stat() // of the open file, so that it cannot be swapped after the check
	switch {
	case err != nil:
		return nil, Failed("cannot be examined", path, err)
	case !st.Mode().IsRegular():
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "path", Message: path + " is not a regular file"}
	case secret && runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0: // Windows has no such bits
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "key file",
			Message: fmt.Sprintf("%s can be read by others (mode %04o)", path, st.Mode().Perm()),
			Hint:    fmt.Sprintf("run chmod 600 %s; if others may have read it, rotate the key", path),
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, Failed("cannot be read", path, err)
	}
	if int64(len(data)) > limit {
		return nil, &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "file",
			Message: fmt.Sprintf("%s is larger than %d bytes", path, limit),
		}
	}
	return data, nil
}

// WriteNew makes the file with its whole content, durably; fs.ErrExist if
// there is one.
func WriteNew(path string, data []byte, mode fs.FileMode) error {
	return write(path, data, mode, func(temp string) error {
		err := os.Link(temp, path) // unlike a rename, it fails if the name is taken
		return errors.Join(err, os.Remove(temp))
	})
}

// Replace makes the file, or replaces the one that is there, durably.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return write(path, data, mode, func(temp string) error { return os.Rename(temp, path) })
}

func write(path string, data []byte, mode fs.FileMode, name func(temp string) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return Failed("cannot be created", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = name(f.Name())
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be gone already
		return Failed("cannot be written", path, err)
	}
	if err := (durable.Dirs{}).Sync(dir); err != nil {
		return Failed("cannot be made durable", dir, err)
	}
	return nil
}

// Failed returns the error for a path that could not be read or written.
func Failed(what, path string, err error) error {
	e := &posthouse.Error{Code: posthouse.CodeUnknown, Message: path + " " + what, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = posthouse.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		e.Code = posthouse.CodeForbidden
	case errors.Is(err, syscall.ENOSPC):
		e.Code, e.Hint = posthouse.CodeFull, "free some space and try again"
	}
	return e
}

// inFile names the file that an error is about.
func inFile(path string, err error) error {
	var e *posthouse.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Field, named.Message = "", path+": "+e.Message
	if e.Field != "" {
		named.Message = path + ": " + e.Field + " " + e.Message
	}
	return &named
}
