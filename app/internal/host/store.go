package host

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/store/local"
)

// A Source is a store to open, and the data directory whose keys sign what is
// in it.
type Source struct {
	URL      string
	Dir      datadir.Dir
	Open     Opener
	ReadOnly bool
	New      bool // one that is gone may be made anew

	AllowWeak bool         // a server that loses acknowledged writes may be used
	Logger    *slog.Logger // what the store tells; nil: nobody
}

// OpenStore opens the store. [posthouse.ErrNotFound] if there is nothing to read,
// or if the store has vanished and New is not set.
func (s *Source) OpenStore(ctx context.Context) (posthouse.Store, error) {
	if !s.ReadOnly && !s.New {
		if err := s.vanished(); err != nil {
			return nil, err
		}
	}
	store, err := s.Open(ctx, s.URL, &local.Options{ReadOnly: s.ReadOnly, AllowWeak: s.AllowWeak, Logger: s.Logger})
	if err != nil {
		return nil, Hinted(err, posthouse.CodeNotFound, "posthouse dev makes one; or say where it is with --data-dir or --store")
	}
	return store, nil
}

// vanished refuses to make a store where one is gone or empty. There was one if the
// signing key and the store's lock file are there.
func (s *Source) vanished() error {
	scheme, path, _ := strings.Cut(s.URL, ":")
	path = strings.TrimSpace(strings.TrimPrefix(path, "//"))
	if _, err := os.Stat(s.Dir.Key()); err != nil || !strings.EqualFold(scheme, "sqlite") || path == "" {
		return nil // a first start; what else is wrong, opening it says
	}
	what := "is empty"
	switch st, err := os.Stat(path); {
	case err == nil && st.Size() > 0:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(path + ".lock"); err != nil {
			return nil // there was none
		}
		what = "is gone"
	case err != nil:
		return nil
	}
	return &posthouse.Error{
		Code:    posthouse.CodeNotFound,
		Message: "the store " + path + " " + what + ", and the key " + s.Dir.Key() + " has signed what was in one",
		Hint:    "put the store back from a backup, or say where it is with --store; to begin anew without it: posthouse serve --new-store",
	}
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
