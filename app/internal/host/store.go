package host

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/transfer"
)

// A Source is a store to open, and the data directory that has the keys for its
// signatures.
type Source struct {
	URL      string
	Dir      datadir.Dir
	Open     Opener
	ReadOnly bool
	New      bool // another store than the directory's may be used, or made
	Owner    bool // the directory belongs to the store from now on, and must not belong to another

	AllowWeak bool         // a server that loses acknowledged writes may be used
	Logger    *slog.Logger // receives the store's messages; may be nil
}

// OpenStore opens the store. [posthouse.ErrNotFound] if there is nothing to read, or if
// the directory's store is gone and New is not set; [posthouse.ErrConflict] if an Owner's
// directory belongs to another store.
func (s *Source) OpenStore(ctx context.Context) (posthouse.Store, error) {
	mark, err := s.mark()
	if err != nil {
		return nil, err
	}
	if !s.ReadOnly && !s.New {
		if err := s.checkThere(ctx, mark); err != nil {
			return nil, err
		}
	}
	store, err := s.Open(ctx, s.URL, &local.Options{ReadOnly: s.ReadOnly, AllowWeak: s.AllowWeak, Logger: s.Logger})
	if err != nil {
		return nil, Hinted(err, posthouse.CodeNotFound, "posthouse dev makes one; or say where it is with --data-dir or --store")
	}
	if s.Owner && !s.inMemory() {
		if err := s.own(ctx, store, mark); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return store, nil
}

// inMemory reports whether the store ends with the process: no directory belongs to it.
func (s *Source) inMemory() bool {
	scheme, _, _ := strings.Cut(strings.TrimSpace(s.URL), ":")
	return strings.EqualFold(scheme, "memory")
}

// mark returns the directory's mark, nil if it has no mark or the mark is to be replaced.
func (s *Source) mark() (*datadir.Mark, error) {
	if s.New || s.ReadOnly || s.inMemory() {
		return nil, nil
	}
	m, err := s.Dir.Mark()
	if err == nil && m != nil && !s.Owner && m.Address != address.Redacted(s.URL) {
		m = nil // a command on another store
	}
	return m, err
}

// own checks that the store is the one of the directory's mark, and makes the mark for a
// new directory, one of an earlier version, or one that may have another store.
func (s *Source) own(ctx context.Context, store posthouse.Store, mark *datadir.Mark) error {
	id, err := transfer.StoreID(ctx, store)
	if err != nil {
		return err
	}
	if mark != nil && id != mark.ID {
		what := "is another store"
		if id == "" {
			what = "has no mark"
		}
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Field: "store",
			Message: "at " + address.Redacted(s.URL) + " " + what + ": the data directory " + string(s.Dir) + " belongs to the one that was at " + mark.Address,
			Hint:    "say where that one is with --store, or name another directory with --data-dir; if this is the store to use from now on, as a backup that an earlier version made: posthouse serve --new-store",
		}
	}
	if id == "" {
		id, err = transfer.EnsureStoreID(ctx, store)
		if err != nil {
			return err
		}
	}
	now := datadir.Mark{ID: id, Address: address.Redacted(s.URL)}
	if mark != nil {
		now.Key = mark.Key
	}
	if mark != nil && *mark == now {
		return nil
	}
	return s.Dir.SetMark(now)
}

// checkThere refuses to make a store where the directory's own is gone, whatever its kind.
func (s *Source) checkThere(ctx context.Context, mark *datadir.Mark) error {
	if mark == nil {
		return s.vanished()
	}
	store, err := s.Open(ctx, s.URL, &local.Options{ReadOnly: true, AllowWeak: true})
	if err == nil {
		return store.Close()
	}
	what := "is gone"
	if _, path, _ := strings.Cut(s.URL, ":"); errors.Is(err, posthouse.ErrCorrupt) && isRest(strings.TrimPrefix(path, "//")) {
		what = "is empty"
	} else if !errors.Is(err, posthouse.ErrNotFound) {
		return nil // opening it to write says what is wrong
	}
	return s.gone(what)
}

// isRest reports whether a file is too short to be a store.
func isRest(path string) bool {
	st, err := os.Stat(strings.TrimSpace(path))
	return err == nil && st.Mode().IsRegular() && st.Size() < minStore
}

// minStore is the size of the smallest file with a store, in bytes: a page of SQLite.
const minStore = 512

func (s *Source) gone(what string) error {
	return &posthouse.Error{
		Code:    posthouse.CodeNotFound,
		Message: "the store " + address.Redacted(s.URL) + " " + what + ", and the data directory " + string(s.Dir) + " belongs to it: its key has signed what was there",
		Hint:    "put the store back from a backup, or say where it is with --store; to begin anew without it: posthouse serve --new-store",
	}
}

// vanished is [Source.checkThere] for a directory without a mark, as an earlier version
// made it. There was a store if one of the directory's tokens was used, or if the signing key is
// there, and the lock file of a database or the rest of one.
func (s *Source) vanished() error {
	scheme, path, _ := strings.Cut(s.URL, ":")
	path = strings.TrimSpace(strings.TrimPrefix(path, "//"))
	if s.wasUsed() && s.Dir.Has(path) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return s.gone("is gone")
		}
	}
	if _, err := os.Stat(s.Dir.Key()); err != nil || !strings.EqualFold(scheme, "sqlite") || path == "" {
		return nil // a first start; what else is wrong, opening it says
	}
	if isRest(path) {
		return s.gone("is empty")
	}
	_, err := os.Stat(path)
	_, lock := os.Stat(path + ".lock")
	if errors.Is(err, fs.ErrNotExist) && lock == nil {
		return s.gone("is gone")
	}
	return nil
}

// wasUsed reports whether somebody has used a server of the directory: there was a store, even
// if nothing else is left of it.
func (s *Source) wasUsed() bool {
	_, err := os.Stat(s.Dir.TokensUsed())
	return err == nil
}

// Hinted returns err with another hint if it has the code.
func Hinted(err error, code posthouse.Code, hint string) error {
	if e, ok := errors.AsType[*posthouse.Error](err); ok && e.Code == code {
		said := *e
		said.Hint = hint
		return &said
	}
	return err
}
