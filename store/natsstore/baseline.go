package natsstore

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// Baseline makes a bucket beside the store's, and returns what puts a value into it. It is
// what posthouse bench compares the store with.
func (s *Store) Baseline(ctx context.Context) (func(ctx context.Context, thread, seq int64, data []byte) error, error) {
	kv, err := s.streams.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: s.streams.names.baseline(), Storage: jetstream.FileStorage})
	if err != nil {
		return nil, s.streams.wrap("make a baseline", err)
	}
	return func(ctx context.Context, thread, seq int64, data []byte) error {
		_, err := kv.Put(ctx, strconv.FormatInt(thread, 10)+"."+strconv.FormatInt(seq, 10), data)
		return err
	}, nil
}
