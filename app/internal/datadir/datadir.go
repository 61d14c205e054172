package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
)

// A Dir is the path of a data directory.
type Dir string

// Default returns the directory that is used unless another is named: posthouse below
// XDG_DATA_HOME, by default ~/.local/share, or below %LocalAppData% on Windows.
func Default(env func(string) string) (Dir, error) {
	if base := env("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return Dir(filepath.Join(base, "posthouse")), nil
	}
	if base := env("LocalAppData"); runtime.GOOS == "windows" && base != "" {
		return Dir(filepath.Join(base, "posthouse")), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return Dir(filepath.Join(home, ".local", "share", "posthouse")), nil
	}
	return "", &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "data directory", Message: "has no default: neither XDG_DATA_HOME nor HOME is set",
		Hint: "name one with --data-dir",
	}
}

// Create makes the directory and its parents, mode 0700. All of them are durable
// when it returns.
func (d Dir) Create() error {
	if err := (durable.Dirs{}).MakeAll(string(d), 0o700); err != nil {
		return fileError("data directory", "cannot be created", err)
	}
	return nil
}

// Sync makes what was renamed in a directory durable.
func Sync(dir string) error {
	if err := (durable.Dirs{}).Sync(dir); err != nil {
		return fileError("directory", "cannot be synced", err)
	}
	return nil
}

// StoreURL returns the address of the directory's own store.
func (d Dir) StoreURL() string { return "sqlite:" + filepath.Join(string(d), "posthouse.db") }

// Key returns the path of the signing key.
func (d Dir) Key() string { return filepath.Join(string(d), "signing.key") }

// EncryptionKeys returns the path of the encryption keys. The file may be missing.
func (d Dir) EncryptionKeys() string { return filepath.Join(string(d), "encryption.keys") }

// Token returns the path of the operator's token.
func (d Dir) Token() string { return filepath.Join(string(d), "token") }

// TokensUsed returns the path of the file that says when tokens were used last. It is there once
// one was.
func (d Dir) TokensUsed() string { return filepath.Join(string(d), "tokens-used.json") }

// TokensRecorded returns the path of the file that says which tokens are on record.
func (d Dir) TokensRecorded() string { return filepath.Join(string(d), "tokens-recorded.json") }

// Ends returns the path of the file that says where the newest threads of the store ended.
func (d Dir) Ends() string { return filepath.Join(string(d), "ends.jsonl") }

// Has reports whether a path lies within the directory.
func (d Dir) Has(path string) bool {
	dir, err := filepath.Abs(string(d))
	if err != nil || path == "" {
		return false
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, abs)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// maxToken bounds a token file.
const maxToken = 4096

// ReadToken reads an access token from a file that only its owner may read.
// [posthouse.ErrNotFound], [posthouse.ErrForbidden] for other modes.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fileError("token file", "cannot be read", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", fileError("token file", "cannot be read", err)
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		return "", &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: fmt.Sprintf("token file %s can be read by others (mode %04o)", path, st.Mode().Perm()),
			Hint: "run: chmod 600 " + path,
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fileError("token file", "cannot be read", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || len(data) > maxToken || strings.ContainsAny(token, " \t\r\n") {
		return "", &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "token file", Message: path + " does not hold one token on one line",
			Hint: "make one with: posthouse token create",
		}
	}
	return token, nil
}

func fileError(field, what string, err error) error {
	e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: what, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code, e.Hint = posthouse.CodeNotFound, "give the path of a file that is there"
	case errors.Is(err, fs.ErrPermission):
		e.Code = posthouse.CodeForbidden
	}
	return e
}
