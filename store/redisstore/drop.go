package redisstore

import (
	"context"

	"github.com/redis/rueidis"
)

// Drop removes every key below the prefix of the store, for good. It is for namespaces
// made to be thrown away: tests and checks. The store must be closed afterwards.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	for cursor := uint64(0); ; {
		m, err := s.do(ctx, "drop the store", func() rueidis.Completed {
			return s.client.B().Scan().Cursor(cursor).Match(s.prefix + "*").Count(1000).Build()
		})
		if err != nil {
			return err
		}
		page, err := m.AsScanEntry()
		if err != nil {
			return s.wrap("drop the store", err)
		}
		if len(page.Elements) > 0 {
			_, err := s.do(ctx, "drop the store", func() rueidis.Completed { return s.client.B().Unlink().Key(page.Elements...).Build() })
			if err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}
