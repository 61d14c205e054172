package local

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Options apply to every store, also those of store/all. Nil is the zero value.
type Options struct {
	// ReadOnly opens the store for reading, while another process may write. A store in
	// memory belongs to one process and is refused.
	ReadOnly bool

	// AllowWeak accepts a server with settings that lose acknowledged writes. Without it
	// Open fails with [posthouse.ErrUnsupported]. The store names its weak settings, see
	// [posthouse.Weaker]. Memory, files and SQLite have no server.
	AllowWeak bool

	// Logger receives weak settings, lost connections and repeated requests from stores
	// that have a server. By default nothing is logged.
	Logger *slog.Logger
}

const known = "known are memory:, file:DIR and sqlite:PATH"

// Open opens the store that a URL names: memory: for a store that ends with the process,
// file:DIR for a directory, sqlite:PATH for a file. Space around the URL and the case of the scheme do not matter.
// Open fails with [posthouse.ErrInvalid], which lists the known stores, for any other URL.
func Open(ctx context.Context, url string, o *Options) (posthouse.Store, error) {
	if o == nil {
		o = &Options{}
	}
	url = strings.TrimSpace(url)
	scheme, rest, ok := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "memory":
		if !ok || strings.Trim(rest, "/") != "" {
			return nil, badURL("has something after memory:")
		}
		if o.ReadOnly {
			return nil, badURL("in memory cannot be opened beside the process that has it")
		}
		return memstore.New(), nil
	case "file":
		dir := strings.TrimSpace(rest)
		if after, ok := strings.CutPrefix(dir, "//"); ok {
			dir = after
		}
		if dir == "" {
			return nil, badURL("names no directory; write file:DIR")
		}
		store, err := filestore.Open(ctx, dir, &filestore.Options{ReadOnly: o.ReadOnly})
		if err != nil {
			return nil, err // not a nil store in a non-nil interface
		}
		return store, nil
	case "sqlite":
		path := strings.TrimSpace(strings.TrimPrefix(rest, "//"))
		if path == "" {
			return nil, badURL("names no file; write sqlite:PATH")
		}
		store, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: o.ReadOnly})
		if err != nil {
			return nil, err // not a nil store in a non-nil interface
		}
		return store, nil
	}
	return nil, badURL("%s", unknown(scheme, ok))
}

// unknown says that an address names no store. It shows no more of it than its scheme:
// the rest may hold a password.
func unknown(scheme string, ok bool) string {
	plain := strings.IndexFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+-._/", r)
	}) < 0
	switch {
	case scheme == "" && !ok:
		return "is empty"
	case !plain || len(scheme) > 64:
		return "names no store that is known"
	case !ok:
		return fmt.Sprintf("%q has no scheme", scheme)
	}
	return fmt.Sprintf("has the scheme %q, which is not known", scheme)
}

func badURL(format string, args ...any) error {
	e := posthouse.Invalid("store", format, args...)
	e.Hint = known
	return e
}
