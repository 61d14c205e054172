package natsstore

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Drop removes the streams of the store with everything in them, for good. It is for
// namespaces made to be thrown away: tests and checks. The store must be closed afterwards.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.streams.writable(ctx); err != nil {
		return err
	}
	if s.streams.own != nil {
		if err := s.streams.own.Unmake(); err != nil {
			return err
		}
	}
	names := []string{"KV_" + s.streams.names.baseline()}
	for _, config := range s.streams.configs() {
		names = append(names, config.Name)
	}
	slices.Reverse(names) // the stream that says that all are there goes first
	for _, name := range names {
		err := s.streams.retryUnknown(ctx, "drop the store", func(ctx context.Context) error {
			if err := s.streams.js.DeleteStream(ctx, name); !errors.Is(err, jetstream.ErrStreamNotFound) {
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
