package memstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
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
		after, err := start, bad
		for err == nil {
			var page []*entry
			var wake <-chan struct{}
			if page, wake, err = s.watchPage(ctx, after); err != nil {
				break
			}
			for _, e := range page {
				c := cloneEntry(&e.Entry, true)
				c.Cursor = s.life + "-" + strconv.FormatUint(e.commit, 10)
				if after = e.commit; !yield(&c, nil) {
					return
				}
			}
			if wake != nil {
				select {
				case <-wake:
				case <-ctx.Done():
				}
			}
		}
		yield(nil, err)
	}
}

func (s *Store) parseCursor(cursor string) (uint64, error) {
	switch cursor {
	case "":
		return 0, nil
	case "now":
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.last, nil
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

// watchPage returns the entries after a commit, or a channel that is closed at the
// next commit.
func (s *Store) watchPage(ctx context.Context, after uint64) (page []*entry, wake <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	i, _ := slices.BinarySearchFunc(s.commits, after+1, byCommit)
	for ; i < len(s.commits) && len(page) < pageResults; i++ {
		if !s.commits[i].gone {
			page = append(page, s.commits[i])
		}
	}
	if len(page) > 0 {
		return page, nil, nil
	}
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	return nil, s.wake, nil
}

func byCommit(e *entry, commit uint64) int { return cmp.Compare(e.commit, commit) }

// wakeAll wakes all watchers. Callers hold s.mu.
func (s *Store) wakeAll() {
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}
