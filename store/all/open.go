package all

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/local"
)

// Options are those of [local.Open], so that [Open] is given where its like is
// taken, as in app.Programs.
type Options = local.Options

// Open opens the store that a URL names: memory: for one that is gone with the
// process, sqlite:PATH for a file. Space around the URL and the case of the
// scheme do not matter. Anything else is an [posthouse.ErrInvalid] that lists
// what is known.
func Open(ctx context.Context, url string, o *Options) (posthouse.Store, error) {
	return local.Open(ctx, url, o)
}
