package s3store

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Drop removes every object below the prefix of the store, for good. It is for namespaces
// made to be thrown away: tests and checks. The store must be closed afterwards. A store
// without a prefix is refused, since its bucket may hold more.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	if s.objects.prefix == "" {
		return posthouse.Invalid("prefix", "is empty: what is in a whole bucket is not dropped")
	}
	keys, err := s.objects.bucket.list(ctx, s.objects.prefix, "", 0)
	if err != nil {
		return s.objects.wrap("drop the store", err)
	}
	for _, key := range keys {
		if err := s.objects.bucket.remove(ctx, key); err != nil {
			return s.objects.wrap("drop the store", err)
		}
	}
	return nil
}
