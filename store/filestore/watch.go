package filestore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// Watch implements [posthouse.Watcher]. It ends with an error when ctx ends, when the
// store is closed, or at an entry that cannot be read. A cursor is valid for as long as
// the store exists.
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := s.parseCursor(ctx, cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		var poll func() <-chan struct{}
		if s.opts.ReadOnly {
			poll = func() <-chan struct{} { return after(ctx, s.opts.Poll) }
		}
		s.index.Watch(ctx, start, poll, func(e *entry) (*posthouse.Entry, error) {
			full, err := s.one(ctx, e)
			if full != nil {
				full.Cursor = strconv.FormatUint(e.Commit, 10)
			}
			return full, err
		})(yield)
	}
}

// after returns a channel that is closed after a time.
func after(ctx context.Context, d time.Duration) <-chan struct{} {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx.Done()
}

func (s *Store) parseCursor(ctx context.Context, cursor string) (uint64, error) {
	switch cursor {
	case "":
		return 0, nil
	case "now":
		if err := s.refresh(ctx); err != nil {
			return 0, err
		}
		s.index.RLock()
		defer s.index.RUnlock()
		return s.index.Last(), nil
	}
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return 0, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "cursor",
			Message: fmt.Sprintf("%.80q is not one this store gave out", cursor),
		}
	}
	return n, nil
}
