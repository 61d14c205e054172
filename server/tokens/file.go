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
// names groups or tasks, or says who made or confirmed it. A program that does not know them refuses
// the file, rather than take such a token for ever, for any task, or for another person.
const (
	format         = 1
	formatExpiring = 2
	formatLimited  = 3
	formatMakers   = 4
)

// maxFile bounds the file, in bytes: some thousand tokens, and the names of some thousand that are gone.
const maxFile = 4 << 20

type document struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
	Gone    []Gone  `json:"gone,omitempty"` // revoked or replaced before they were confirmed
}

// version returns the earliest that can say what the document has.
func (f *document) version() int {
	switch {
	case len(f.Gone) > 0, slices.ContainsFunc(f.Tokens, func(x Token) bool { return !x.Unrecorded() }):
		return formatMakers
	case slices.ContainsFunc(f.Tokens, func(x Token) bool { return x.limited() }):
		return formatLimited
	case slices.ContainsFunc(f.Tokens, func(x Token) bool { return !x.ExpiresAt.IsZero() }):
		return formatExpiring
	}
	return format
}

// change reads the file, applies f and replaces the file. A lock keeps other processes
// out, so that no change is lost.
func (t *List) change(f func(*document) error) error {
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
	doc := t.copy()
	if err := f(doc); err != nil {
		return err
	}
	doc.Version = doc.version()
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fileError(path, "cannot be encoded", err)
	}
	if err := writeFile(path, append(data, '\n')); err != nil {
		return err
	}
	return t.refresh()
}

func read(path string) (*document, error) {
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
	doc, err := parse(data)
	if err != nil {
		return nil, fileError(path, "is damaged", err)
	}
	return doc, nil
}

// parse reads the file's content. It accepts nothing that could widen what a
// token may do: an unknown role, a name twice, a missing hash.
func parse(data []byte) (*document, error) {
	if len(data) > maxFile {
		return nil, posthouse.Invalid("tokens", "are more than %d bytes", maxFile)
	}
	var file document
	if err := strict.Decode(data, &file); err != nil {
		return nil, err
	}
	if file.Version < format || file.Version > formatMakers {
		return nil, &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the tokens file has version %d; this program knows versions up to %d", file.Version, formatMakers),
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
		case file.Version < formatMakers && !t.Unrecorded(), !t.Maker.IsZero() && validName(t.Maker.Name) != nil && posthouse.CheckDecider("maker", t.Maker.Name) != nil:
			return nil, posthouse.Invalid("maker", "of %.40q is no name, or stands in a file of version %d", t.Name, file.Version)
		case !t.ExpiresAt.IsZero() && file.Version < formatExpiring:
			return nil, posthouse.Invalid("expiresAt", "of %.40q stands in a file of version %d, which has none", t.Name, file.Version)
		}
		names[t.Name] = true
	}
	for _, g := range file.Gone {
		if file.Version < formatMakers || validName(g.Name) != nil || g.Maker.Name == "" {
			return nil, posthouse.Invalid("gone", "%.40q is no name, has no maker, or stands in a file of version %d", g.Name, file.Version)
		}
	}
	return &file, nil
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
