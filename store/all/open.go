package all

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/local"
)

// Options are those of [local.Open], so that both functions have one type, as
// app.Programs requires.
type Options = local.Options

// Open opens the store that a URL names: memory: for a store that ends with the process,
// file:DIR for a directory, sqlite:PATH for a file. Space around the URL and the case of the scheme do not matter.
// Open fails with [posthouse.ErrInvalid], which lists the known stores, for any other URL.
func Open(ctx context.Context, url string, o *Options) (posthouse.Store, error) {
	return local.Open(ctx, url, o)
}
