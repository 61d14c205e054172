package conform

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
)

// A dropper is a store that removes itself with everything in it.
type dropper interface {
	Drop(ctx context.Context) error
}

// scratch returns the address of the namespace that a name has on the server, or beside
// the file, of a URL. It has the directory too if the namespace is one. The same name
// gives the same address in every process.
func scratch(address, name string) (at, dir string, err error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	space := fmt.Sprintf("posthouse_check_%016x", h.Sum64())
	scheme, rest, _ := strings.Cut(strings.TrimSpace(address), ":")
	switch scheme = strings.ToLower(scheme); scheme {
	case "memory":
		return "memory:", "", nil
	case "file":
		dir = filepath.Join(filepath.Dir(filepath.Clean(strings.TrimPrefix(rest, "//"))), space)
		return "file:" + dir, dir, nil
	case "sqlite":
		dir = filepath.Join(filepath.Dir(strings.TrimPrefix(rest, "//")), space)
		return "sqlite:" + filepath.Join(dir, "posthouse.db"), dir, nil
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", "", posthouse.Invalid("store", "is not a URL: %v", err)
	}
	q := u.Query()
	switch scheme {
	case "postgres", "postgresql":
		q.Set("schema", space)
	case "s3":
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + space
	default:
		q.Set("prefix", space)
	}
	u.RawQuery = q.Encode()
	return u.String(), "", nil
}

// open opens the namespace of a name. It makes the directory if there is one.
func (s *suite) open(ctx context.Context, name string) (posthouse.Store, error) {
	at, dir, err := scratch(s.URL, name)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "store", Message: "has no room for a directory beside it", Err: err,
				Hint: "name a path in a directory that is there and can be written",
			}
		}
	}
	return s.Open(ctx, at)
}

// drop removes the namespace of a name with all that is in it.
func (s *suite) drop(ctx context.Context, name string) error {
	at, dir, err := scratch(s.URL, name)
	switch {
	case err != nil || at == "memory:":
		return err
	case dir != "":
		return os.RemoveAll(dir)
	}
	store, err := s.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	d, ok := store.(dropper)
	if !ok {
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "the store cannot drop " + at}
	}
	return d.Drop(ctx)
}
