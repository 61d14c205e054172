package filestore

import (
	"context"

	"github.com/posthouse/posthouse/internal/base/groupcommit"
)

// Baseline makes a bare file beside the store's, and returns what appends bytes to it and
// syncs them. Calls that arrive together share a sync. It is what posthouse bench compares
// the store with, until ctx ends.
func (s *Store) Baseline(ctx context.Context) (func(ctx context.Context, thread, seq int64, data []byte) error, error) {
	f, err := s.dir.system.Create("baseline")
	if err != nil {
		return nil, s.dir.wrap("make a baseline", err)
	}
	context.AfterFunc(ctx, func() { _ = f.Close() })
	at := int64(0)
	queue := groupcommit.New(512, func([]byte) int { return 1 }, func(group []*groupcommit.Call[[]byte]) {
		var all []byte
		for _, c := range group {
			all = append(all, c.Work...)
		}
		n, err := f.WriteAt(all, at)
		if at += int64(n); err == nil {
			err = f.Sync()
		}
		for _, c := range group {
			c.Err = err
		}
	})
	return func(ctx context.Context, _, _ int64, data []byte) error { return queue.Do(ctx, data) }, nil
}
