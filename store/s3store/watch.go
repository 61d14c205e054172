package s3store

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
)

// Watch implements [posthouse.Watcher]. Besides what is appended through this Store, which
// it sees at once, it asks for the next commit each Options.Poll: one request each time. It
// ends with an error when ctx ends, when the store is closed, or at an entry that cannot be
// read. A cursor is valid for as long as the store exists.
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := s.parseCursor(ctx, cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		s.view.index.Watch(ctx, start, func() <-chan struct{} { return after(ctx, s.opts.Poll) }, func(e *entry) (*posthouse.Entry, error) {
			full, err := s.one(ctx, e, true)
			err = away.Read(err)
			if full != nil {
				full.Cursor = s.life + "-" + strconv.FormatUint(e.Commit, 10)
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
			return 0, away.Read(err)
		}
		s.view.index.RLock()
		defer s.view.index.RUnlock()
		return s.view.index.Last(), nil
	}
	life, num, _ := strings.Cut(cursor, "-")
	n, err := strconv.ParseUint(num, 10, 64)
	if err != nil || life != s.life {
		return 0, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "cursor",
			Message: fmt.Sprintf("%.80q is not one this store gave out", cursor),
			Hint:    "watch from the start, or from now",
		}
	}
	return n, nil
}
