package all

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/s3store"
)

// Options are those of [local.Open], so that both functions have one type, as
// app.Programs requires.
type Options = local.Options

const known = "known are memory:, file:DIR, sqlite:PATH, postgres://USER@HOST/DATABASE, redis://HOST:PORT, nats:DIR, nats://HOST:PORT and s3://BUCKET/PREFIX"

// Open opens the store that a URL names: memory: for a store that ends with the process,
// file:DIR for a directory, sqlite:PATH for a file. postgres://USER@HOST/DATABASE, or
// postgresql:, is for a database, in the schema that ?schema=NAME names.
// redis://HOST:PORT, or rediss: for TLS, is for a Redis server, under the prefix that
// ?prefix=NAME names. nats:DIR is for a NATS server in this process with its files in a
// directory, nats://HOST:PORT, or tls: for TLS, for one elsewhere, in the streams that
// ?prefix=NAME names. s3://BUCKET/PREFIX?endpoint=HOST&region=NAME is for a bucket. Space
// around the URL and the case of the scheme do not matter. Open fails with
// [posthouse.ErrInvalid], which lists the known stores, for any other URL.
func Open(ctx context.Context, url string, o *Options) (posthouse.Store, error) {
	if o == nil {
		o = &Options{}
	}
	url = strings.TrimSpace(url)
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme = strings.ToLower(scheme); scheme {
	case "postgres", "postgresql":
		store, err := pgstore.Open(ctx, scheme+":"+rest, &pgstore.Options{ReadOnly: o.ReadOnly, AllowWeak: o.AllowWeak, Logger: o.Logger})
		if err != nil {
			return nil, err // not a nil store in a non-nil interface
		}
		return store, nil
	case "redis", "rediss":
		store, err := redisstore.Open(ctx, scheme+":"+rest, &redisstore.Options{ReadOnly: o.ReadOnly, AllowWeak: o.AllowWeak, Logger: o.Logger})
		if err != nil {
			return nil, err // not a nil store in a non-nil interface
		}
		return store, nil
	case "nats", "tls":
		store, err := natsstore.Open(ctx, scheme+":"+rest, &natsstore.Options{ReadOnly: o.ReadOnly, AllowWeak: o.AllowWeak, Logger: o.Logger})
		if err != nil {
			return nil, err // not a nil store in a non-nil interface
		}
		return store, nil
	case "s3":
		store, err := s3store.Open(ctx, scheme+":"+rest, &s3store.Options{ReadOnly: o.ReadOnly, Logger: o.Logger})
		if err != nil {
			return nil, err // not a nil store in a non-nil interface
		}
		return store, nil
	}
	store, err := local.Open(ctx, url, o)
	if e := (*posthouse.Error)(nil); errors.As(err, &e) && e.Code == posthouse.CodeInvalid && e.Field == "store" {
		e.Hint = known // more than local knows
	}
	return store, err
}
