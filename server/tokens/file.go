package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/filelock"
	"github.com/posthouse/posthouse/internal/secretfile"
	"github.com/posthouse/posthouse/server/internal/strict"
)

// The versions of the file. The later ones are written only while a token has an expiry, or
// names groups or tasks. A program that does not know them refuses the file, rather than take
// such a token for ever, or for any task.
const (
	format         = 1
	formatExpiring = 2
	formatLimited  = 3
)

// maxFile bounds the file, in bytes: some thousand tokens.
const maxFile = 1 << 20

type document struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
}

// change reads the file, applies f and replaces the file. A lock keeps other processes
// out, so that no change is lost.
func (t *List) change(f func([]Token) ([]Token, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	path := filepath.Join(t.dir, File)
	lock, err := filelock.Take(path + ".lock")
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return &posthouse.Error{
			Code: posthouse.CodeLocked, Message: "another process is changing the tokens", Hint: "try again",
		}
	case err != nil:
		return fileError(path, "cannot be locked", err)
	}
	defer lock.Close()
	if err := t.refresh(); err != nil {
		return err
	}
	ts, err := f(slices.Clone(t.tokens))
	if err != nil {
		return err
	}
	version := format
	if slices.ContainsFunc(ts, func(x Token) bool { return !x.ExpiresAt.IsZero() }) {
		version = formatExpiring
	}
	if slices.ContainsFunc(ts, func(x Token) bool { return x.limited() }) {
		version = formatLimited
	}
	data, err := json.MarshalIndent(document{version, ts}, "", "  ")
	if err != nil {
		return fileError(path, "cannot be encoded", err)
	}
	if err := writeFile(path, append(data, '\n')); err != nil {
		return err
	}
	return t.refresh()
}

func read(path string) ([]Token, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, "cannot be read", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(path, "cannot be read", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: path + " can be reached by other users of this machine",
			Hint: "run chmod 600 on it, and make new tokens if others may have changed it",
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fileError(path, "cannot be read", err)
	}
	ts, err := parse(data)
	if err != nil {
		return nil, fileError(path, "is damaged", err)
	}
	return ts, nil
}

// parse reads the file's content. It accepts nothing that could widen what a
// token may do: an unknown role, a name twice, a missing hash.
func parse(data []byte) ([]Token, error) {
	if len(data) > maxFile {
		return nil, posthouse.Invalid("tokens", "are more than %d bytes", maxFile)
	}
	var file document
	if err := strict.Decode(data, &file); err != nil {
		return nil, err
	}
	if file.Version < format || file.Version > formatLimited {
		return nil, &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the tokens file has version %d; this program knows versions up to %d", file.Version, formatLimited),
			Hint: "use the version of posthouse that wrote it, or a newer one; nothing was changed",
		}
	}
	names := map[string]bool{}
	for _, t := range file.Tokens {
		switch err := validName(t.Name); {
		case err != nil:
			return nil, err
		case names[t.Name]:
			return nil, posthouse.Invalid("name", "%.40q is there twice", t.Name)
		case !t.Role.Valid():
			return nil, posthouse.Invalid("role", "of %.40q is not one of viewer, approver, operator, worker", t.Name)
		case t.SignedIn != "":
			return nil, posthouse.Invalid("signedIn", "of %.40q is of a login, not of a token", t.Name)
		case t.Hash.IsZero():
			return nil, posthouse.Invalid("hash", "of %.40q is missing", t.Name)
		case t.limited() && (file.Version < formatLimited || t.Role != Worker):
			return nil, posthouse.Invalid("groups", "or tasks of %.40q stand in a file of version %d, or in a token of another role than worker", t.Name, file.Version)
		case checkNames("group", t.Groups) != nil || checkNames("task", t.Tasks) != nil:
			return nil, posthouse.Invalid("groups", "or tasks of %.40q are no names", t.Name)
		case !t.ExpiresAt.IsZero() && file.Version < formatExpiring:
			return nil, posthouse.Invalid("expiresAt", "of %.40q stands in a file of version %d, which has none", t.Name, file.Version)
		}
		names[t.Name] = true
	}
	return file.Tokens, nil
}

// writeFile replaces the file, whole and durably, mode 0600.
func writeFile(path string, data []byte) error {
	if err := secretfile.Replace(path, data, 0o600); err != nil {
		return fileError(path, "cannot be written", err)
	}
	return nil
}

// fileError says what is wrong with a file, with the code of what failed
// below.
func fileError(path, what string, err error) error {
	code := posthouse.CodeUnknown
	var e *posthouse.Error
	if errors.As(err, &e) || errors.As(secretfile.Failed(what, path, err), &e) {
		code = e.Code
	}
	return &posthouse.Error{
		Code: code, Message: "the file " + path + " " + what, Err: err,
		Hint: "nobody can be authenticated until it is mended or, with all its tokens, removed",
	}
}
