package natsstore

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Drop removes the streams of the store with everything in them, for good. It is for
// namespaces made to be thrown away: tests and checks. The store must be closed afterwards.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	names := []string{"KV_" + s.names.baseline()}
	for _, config := range s.configs() {
		names = append(names, config.Name)
	}
	for _, name := range names {
		err := s.settle(ctx, "drop the store", func(ctx context.Context) error {
			if err := s.js.DeleteStream(ctx, name); !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
