package redisstore

import (
	"context"
	"strconv"
)

// Baseline returns what writes a field of a hash beside the store's keys, in one command.
// Commands that arrive together share a round trip. It is what posthouse bench compares
// the store with.
func (s *Store) Baseline(context.Context) (func(ctx context.Context, thread, seq int64, data []byte) error, error) {
	return func(ctx context.Context, thread, seq int64, data []byte) error {
		key := s.prefix + "baseline:" + strconv.FormatInt(thread, 10)
		_, err := s.client.Do(ctx, "HSET", key, strconv.FormatInt(seq, 10), string(data))
		return err
	}, nil
}
