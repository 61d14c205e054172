package sqlitestore

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// Append implements [posthouse.Store]. Callers that append at the same time, to any
// threads, share one transaction and one sync of the log.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.submit(ctx, "append to the log", request{batch: b})
}

// AppendAll implements [posthouse.BulkAppender]. The entries share a transaction and one
// write of the thread's summary.
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil {
		return err
	}
	if len(bs) == 0 {
		return ctx.Err()
	}
	return s.submit(ctx, "append to the log", request{batches: bs})
}
