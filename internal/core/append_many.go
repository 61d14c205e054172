package core

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
)

// A Bulk appends entries of one thread in groups. A store that is no
// [posthouse.BulkAppender] gets them one by one.
type Bulk struct {
	Ctx   context.Context
	Store posthouse.Store
	Took  func([]*posthouse.Batch) // called with what the store has taken

	batches []*posthouse.Batch
	size    int
}

// Add adds the next entry, which is in the store once Flush returns nil. The caller
// must not change the batch until then.
func (k *Bulk) Add(b *posthouse.Batch) error {
	n := b.Entry.Size()
	if len(k.batches) > 0 && k.size+n > posthouse.MaxBulkBytes {
		if err := k.Flush(); err != nil {
			return err
		}
	}
	k.batches, k.size = append(k.batches, b), k.size+n
	if _, ok := k.Store.(posthouse.BulkAppender); !ok || len(k.batches) == posthouse.MaxBulk {
		return k.Flush()
	}
	return nil
}

// Flush appends what was collected.
func (k *Bulk) Flush() error {
	if len(k.batches) == 0 {
		return nil
	}
	if err := PutEntries(k.Ctx, k.Store, k.batches); err != nil {
		return err
	}
	if k.Took != nil {
		k.Took(k.batches)
	}
	k.batches, k.size = emptied(k.batches), 0
	return nil
}

// PutEntries appends entries of one thread that follow each other.
func PutEntries(ctx context.Context, s posthouse.Store, bs []*posthouse.Batch) error {
	all, ok := s.(posthouse.BulkAppender)
	if !ok || len(bs) == 1 {
		for _, b := range bs {
			if err := putEntry(ctx, s, b); err != nil {
				return err
			}
		}
		return nil
	}
	return retryUnknown(ctx, func() error { return all.AppendAll(ctx, bs) })
}

// retryUnknown makes an append, and up to three times again while its outcome is not known.
// Only success or [posthouse.ErrConflict] says what it is. After any other answer the entry may
// be there, so it stays [posthouse.ErrUnknown].
func retryUnknown(ctx context.Context, try func() error) error {
	err := try()
	for n := 0; errors.Is(err, posthouse.ErrUnknown) && ctx.Err() == nil && n < 3; n++ {
		if again := try(); again == nil || errors.Is(again, posthouse.ErrConflict) {
			err = again
		}
	}
	return err
}
