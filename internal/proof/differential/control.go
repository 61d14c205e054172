package differential

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse"
)

// whole is a store with all that sequences use.
type whole interface {
	posthouse.Store
	posthouse.BulkAppender
	posthouse.Watcher
	posthouse.SlotLister
	posthouse.Checker
}

// limitless is a store that reads on after a limit.
type limitless struct{ whole }

func (s limitless) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	r.Limit = 0
	return s.whole.Read(ctx, thread, r)
}

// Control breaks SQLite, as a Spoil: it reads on after a limit.
func Control(kind string, s posthouse.Store) posthouse.Store {
	if w, ok := s.(whole); ok && kind == "sqlite" {
		return limitless{w}
	}
	return s
}
