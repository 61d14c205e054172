package s3store

import (
	"context"
	"fmt"
)

// Baseline returns what puts an object that is not there yet beside the store's, in one
// request. It is what posthouse bench compares the store with.
func (s *Store) Baseline(context.Context) (func(ctx context.Context, thread, seq int64, data []byte) error, error) {
	return func(ctx context.Context, thread, seq int64, data []byte) error {
		_, err := s.objects.bucket.put(ctx, fmt.Sprintf("%sbaseline/%d/%d", s.objects.prefix, thread, seq), data, "")
		return err
	}, nil
}
