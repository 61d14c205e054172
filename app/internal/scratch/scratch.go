package scratch

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
	"github.com/posthouse/posthouse/app/internal/address"
)

// A dropper is a store that removes itself with everything in it.
type dropper interface {
	Drop(ctx context.Context) error
}

// A Server is where namespaces are made.
type Server struct {
	URL  string                                                         // the address of a store
	Open func(ctx context.Context, url string) (posthouse.Store, error) // opens any address
}

// At returns the address of the namespace that a name has on the server, or beside the
// file. It has the directory too if the namespace is one. The same name gives the same
// address in every process.
func (s *Server) At(name string) (at, dir string, err error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	space := fmt.Sprintf("posthouse_check_%016x", h.Sum64())
	scheme, rest, _ := strings.Cut(strings.TrimSpace(s.URL), ":")
	switch scheme = strings.ToLower(scheme); scheme {
	case "memory":
		return "memory:", "", nil
	case "file":
		dir = filepath.Join(filepath.Dir(filepath.Clean(strings.TrimPrefix(rest, "//"))), space)
		return "file:" + dir, dir, nil
	case "sqlite":
		dir = filepath.Join(filepath.Dir(strings.TrimPrefix(rest, "//")), space)
		return "sqlite:" + filepath.Join(dir, "posthouse.db"), dir, nil
	case "nats":
		path, _, _ := strings.Cut(rest, "?")
		path = strings.TrimPrefix(path, "//")
		if !strings.HasPrefix(rest, "//") || strings.HasPrefix(path, "/") { // no server's address
			dir = filepath.Join(filepath.Dir(filepath.Clean(path)), space)
			return "nats:" + dir, dir, nil
		}
	}
	rest, query, _ := strings.Cut(rest, "?") // not url.Parse, which takes one host only
	q, err := url.ParseQuery(query)
	if err != nil {
		return "", "", posthouse.Invalid("store", "is not a URL") // without the cause, which may have the password
	}
	switch scheme {
	case "postgres", "postgresql":
		q.Set("schema", space)
	case "s3":
		rest = strings.TrimSuffix(rest, "/") + "/" + space
	default:
		q.Set("prefix", space)
	}
	if len(q) == 0 {
		return scheme + ":" + rest, "", nil
	}
	return scheme + ":" + rest + "?" + q.Encode(), "", nil
}

// Make opens the namespace of a name, and makes its directory if it is one. It fails with
// [posthouse.ErrInvalid] if there is no directory to make it in.
func (s *Server) Make(ctx context.Context, name string) (posthouse.Store, error) {
	at, dir, err := s.At(name)
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

// Drop removes the namespace of a name with all that is in it.
func (s *Server) Drop(ctx context.Context, name string) error {
	at, dir, err := s.At(name)
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
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "the store cannot drop " + address.Redacted(at)}
	}
	return d.Drop(ctx)
}
