package sqlitestore

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// Append implements [posthouse.Store]. Callers that append at the same time,
// to whatever threads, share one transaction and one sync of the log.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := validate(b); err != nil {
		return err
	}
	return s.submit(ctx, "append to the log", request{batch: b})
}

// AppendAll implements [posthouse.BulkAppender]: the entries share a transaction,
// and one write of the thread's summary.
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	for i, b := range bs {
		if err := validate(b); err != nil {
			return err
		}
		if i > 0 && (b.Entry.Thread != bs[i-1].Entry.Thread || b.After != bs[i-1].Thread.Tail) {
			return posthouse.Invalid("batches", "number %d does not follow the one before it", i)
		}
	}
	if len(bs) == 0 {
		return ctx.Err()
	}
	return s.submit(ctx, "append to the log", request{bulk: bs})
}

// validate refuses what no Ledger sends and what would break the log's order.
func validate(b *posthouse.Batch) error {
	switch {
	case b.Entry == nil || b.Thread == nil:
		return posthouse.Invalid("batch", "has no entry or no summary")
	case b.Entry.Thread == "" || b.Entry.Thread != b.Thread.Thread:
		return posthouse.Invalid("thread", "differs between the entry and its summary")
	case b.Entry.Seq != b.After.Seq+1 && !(b.Copy && b.Entry.Seq > b.After.Seq), b.Entry.Seq > layout.MaxSeq:
		return posthouse.Invalid("seq", "is %d after entry %d", b.Entry.Seq, b.After.Seq)
	case b.Thread.Tail != posthouse.Position{Seq: b.Entry.Seq, Hash: b.Entry.Hash}:
		return posthouse.Invalid("tail", "of the summary is not the entry")
	}
	return nil
}
