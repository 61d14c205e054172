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
	if s.prefix == "" {
		return posthouse.Invalid("prefix", "is empty: what is in a whole bucket is not dropped")
	}
	keys, err := s.bucket.list(ctx, s.prefix, "", 0)
	if err != nil {
		return s.wrap("drop the store", err)
	}
	for _, key := range keys {
		if err := s.bucket.remove(ctx, key); err != nil {
			return s.wrap("drop the store", err)
		}
	}
	return nil
}
