package sqlitestore

import (
	"context"
	"iter"
)

// Check implements [posthouse.Checker].
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {}
}
