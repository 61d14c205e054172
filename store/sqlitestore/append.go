package sqlitestore

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Append implements [posthouse.Store]. Callers that append at the same time,
// to whatever threads, share one transaction and one sync of the log.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := validate(b); err != nil {
		return err
	}
	return s.submit(ctx, "append to the log", request{batch: b})
}

// validate refuses what no Ledger sends and what would break the log's order.
func validate(b *posthouse.Batch) error {
	switch {
	case b.Entry == nil || b.Thread == nil:
		return invalid("batch", "has no entry or no summary")
	case b.Entry.Thread == "" || b.Entry.Thread != b.Thread.Thread:
		return invalid("thread", "differs between the entry and its summary")
	case b.Entry.Seq != b.After.Seq+1 && !(b.Copy && b.Entry.Seq > b.After.Seq), b.Entry.Seq > maxSeq:
		return invalid("seq", "is %d after entry %d", b.Entry.Seq, b.After.Seq)
	case b.Thread.Tail != posthouse.Position{Seq: b.Entry.Seq, Hash: b.Entry.Hash}:
		return invalid("tail", "of the summary is not the entry")
	}
	return nil
}
