package redisstore

import "context"

// Drop removes every key below the prefix of the store, for good. It is for namespaces
// made to be thrown away: tests and checks. The store must be closed afterwards.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	for cursor := "0"; ; {
		m, err := s.do(ctx, "drop the store", "SCAN", cursor, "MATCH", s.prefix+"*", "COUNT", "1000")
		if err != nil {
			return err
		}
		next, keys, err := m.Scan()
		if err != nil {
			return s.wrap("drop the store", err)
		}
		if len(keys) > 0 {
			_, err := s.do(ctx, "drop the store", append([]string{"UNLINK"}, keys...)...)
			if err != nil {
				return err
			}
		}
		cursor = next
		if cursor == "0" {
			return nil
		}
	}
}
