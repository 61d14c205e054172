package valid

import (
	"fmt"

	"github.com/posthouse/posthouse"
)

// Limits of a store.
const (
	MaxSeq  = 1<<63 - 1 // the highest sequence number
	MaxSlot = 1 << 20   // the largest value of a slot, in bytes
)

// Batch refuses a batch that would break the log's order, with [posthouse.ErrInvalid] and
// the field at fault. No Ledger sends such a batch.
func Batch(b *posthouse.Batch) error {
	switch {
	case b.Entry == nil || b.Thread == nil:
		return posthouse.Invalid("batch", "has no entry or no summary")
	case b.Entry.Thread == "" || b.Entry.Thread != b.Thread.Thread:
		return posthouse.Invalid("thread", "differs between the entry and its summary")
	case b.Entry.Seq != b.After.Seq+1 && !(b.Copy && b.Entry.Seq > b.After.Seq), b.Entry.Seq > MaxSeq:
		return posthouse.Invalid("seq", "is %d after entry %d", b.Entry.Seq, b.After.Seq)
	case b.Thread.Tail != posthouse.Position{Seq: b.Entry.Seq, Hash: b.Entry.Hash}:
		return posthouse.Invalid("tail", "of the summary is not the entry")
	}
	return nil
}

// Batches is [Batch] for the batches of a [posthouse.BulkAppender]. They must be of one
// thread, each must follow the one before it, and there may be [posthouse.MaxBulk].
func Batches(bs []*posthouse.Batch) error {
	if len(bs) > posthouse.MaxBulk {
		return posthouse.TooMany("batches", len(bs), posthouse.MaxBulk, "append fewer at a time")
	}
	for i, b := range bs {
		if err := Batch(b); err != nil {
			return err
		}
		if i > 0 && (b.Entry.Thread != bs[i-1].Entry.Thread || b.After != bs[i-1].Thread.Tail) {
			return posthouse.Invalid("batches", "number %d does not follow the one before it", i)
		}
	}
	return nil
}

// Conflict returns the [posthouse.ErrConflict] for a batch that does not meet the end of the
// log.
func Conflict(b *posthouse.Batch, tail posthouse.Position) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Tail: &tail,
		Message: fmt.Sprintf("thread %q ends at entry %d, not at %d", b.Entry.Thread, tail.Seq, b.After.Seq),
		Hint:    "read the thread's tail and try again",
	}
}

// Slot refuses an operation that no store does. It returns [posthouse.ErrInvalid] for a key
// without a thread or a step and for an unknown verb, and [posthouse.ErrTooLarge] for a
// value above [MaxSlot].
func Slot(key posthouse.SlotKey, op *posthouse.SlotOp) error {
	switch {
	case len(op.Value) > MaxSlot:
		return &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "value",
			Message: fmt.Sprintf("of a slot is %d bytes; the limit is %d", len(op.Value), MaxSlot),
		}
	case key.Thread == "" || key.Step == "":
		return posthouse.Invalid("slot", "has no thread or no step")
	case op.Verb > posthouse.SlotDelete:
		return posthouse.Invalid("verb", "%d is not known", op.Verb)
	}
	return nil
}
