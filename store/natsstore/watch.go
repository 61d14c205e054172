package natsstore

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
)

// Watch implements [posthouse.Watcher]. It goes on by itself when the server was away. It
// ends with an error when ctx ends, when the store is closed, or at an entry that cannot
// be read. A cursor is valid for as long as the streams exist; one of other streams is
// [posthouse.ErrInvalid].
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	at, bad := s.parseCursor(ctx, cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		for {
			again := false
			s.view.index.Watch(ctx, at, nil, func(e *entry) (*posthouse.Entry, error) {
				full, err := s.one(ctx, e)
				if full != nil {
					full.Cursor = s.life + "-" + strconv.FormatUint(e.Commit, 10)
				}
				if err == nil {
					at = e.Commit
				}
				return full, err
			})(func(e *posthouse.Entry, err error) bool {
				again = isLost(err) && ctx.Err() == nil
				return again || yield(e, err)
			})
			if !again {
				return
			}
		}
	}
}

func (s *Store) parseCursor(ctx context.Context, cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	if cursor == "now" {
		if err := s.refresh(ctx); err != nil {
			return 0, away.Read(err)
		}
		s.view.index.RLock()
		defer s.view.index.RUnlock()
		return s.view.index.Last(), nil
	}
	life, n, _ := strings.Cut(cursor, "-")
	commit, err := strconv.ParseUint(n, 10, 64)
	if err != nil || life != s.life {
		e := posthouse.Invalid("cursor", "%.80q is not one this store gave out", cursor)
		e.Hint = "watch from the start; the server may have lost or got other data since"
		return 0, e
	}
	return commit, nil
}
