package memstore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Watch implements [posthouse.Watcher]. It ends with an error when ctx ends or the
// store is closed. A cursor is valid for this Store only. A cursor of another Store,
// such as one from before a restart, is [posthouse.ErrInvalid].
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := s.parseCursor(cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		s.index.Watch(ctx, start, nil, func(e *entry) (*posthouse.Entry, error) {
			c := cloneEntry(contentOf(e), true)
			c.Cursor = s.life + "-" + strconv.FormatUint(e.Commit, 10)
			return c, nil
		})(yield)
	}
}

func (s *Store) parseCursor(cursor string) (uint64, error) {
	switch cursor {
	case "":
		return 0, nil
	case "now":
		s.index.RLock()
		defer s.index.RUnlock()
		return s.index.Last(), nil
	}
	life, num, _ := strings.Cut(cursor, "-")
	n, err := strconv.ParseUint(num, 10, 64)
	if err != nil || life != s.life {
		return 0, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "cursor", Message: fmt.Sprintf("%.80q is not one this store gave out", cursor),
			Hint: "watch from the start; a store in memory begins anew with each process",
		}
	}
	return n, nil
}
