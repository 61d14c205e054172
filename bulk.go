package posthouse

import (
	"context"
	"errors"
)

// A bulk collects entries of one thread for a store, and hands them over
// together where the store can take them so, else one by one at once.
type bulk struct {
	ctx   context.Context
	store Store
	took  func([]*Batch) // called with what the store has taken

	batches []*Batch
	size    int
}

// add takes the next entry; it and those before it are in the store once flush
// returns nil. The caller leaves the batch alone until then.
func (k *bulk) add(b *Batch) error {
	n := b.Entry.size()
	if len(k.batches) > 0 && k.size+n > MaxBulkBytes {
		if err := k.flush(); err != nil {
			return err
		}
	}
	k.batches, k.size = append(k.batches, b), k.size+n
	if _, ok := k.store.(BulkAppender); !ok || len(k.batches) == MaxBulk {
		return k.flush()
	}
	return nil
}

func (k *bulk) flush() error {
	if len(k.batches) == 0 {
		return nil
	}
	if err := appendAllTo(k.ctx, k.store, k.batches); err != nil {
		return err
	}
	if k.took != nil {
		k.took(k.batches)
	}
	k.batches, k.size = emptied(k.batches), 0
	return nil
}

// appendAllTo is appendTo for entries of one thread that follow each other.
func appendAllTo(ctx context.Context, s Store, bs []*Batch) error {
	all, ok := s.(BulkAppender)
	if !ok || len(bs) == 1 {
		for _, b := range bs {
			if err := appendTo(ctx, s, b); err != nil {
				return err
			}
		}
		return nil
	}
	return settled(ctx, func() error { return all.AppendAll(ctx, bs) })
}

// settled makes an append, and the same one again while its outcome is not
// known, three times at most. Only success or [ErrConflict] settles it: whatever
// else a store says then, the entry may be there, so it stays [ErrUnknown].
func settled(ctx context.Context, try func() error) error {
	err := try()
	for n := 0; errors.Is(err, ErrUnknown) && ctx.Err() == nil && n < 3; n++ {
		if again := try(); again == nil || errors.Is(again, ErrConflict) {
			err = again
		}
	}
	return err
}

// size returns the bytes of an entry that a store has to keep.
func (e *Entry) size() int {
	n := len(e.Header) + len(e.Sig)
	for _, b := range e.Bodies {
		n += len(b)
	}
	return n
}

// commitAll is commit for drafts of one thread, each of which follows the one
// before, without what commit tells of each. They are on record when it returns
// nil; where the store can, together.
func (l *Core) commitAll(ctx context.Context, ds []*Plan) error {
	if len(ds) == 0 {
		return nil
	}
	for _, d := range ds {
		if err := d.validate(); err != nil {
			return err
		}
	}
	t, err := l.lock(ds[0].Thread)
	if err != nil {
		return err
	}
	defer l.unlock(t)
	for range maxRetries {
		var again bool
		if again, err = l.putAll(ctx, t, ds); !again {
			return err
		}
	}
	return err
}

// putAll builds the entries of drafts, each on top of the one before, and appends
// them together. again says that others have appended meanwhile, so that all are
// to be built anew. Callers hold t.mu.
func (l *Core) putAll(ctx context.Context, t *thread, ds []*Plan) (again bool, err error) {
	if err := l.load(ctx, t); err != nil {
		return false, err
	}
	known := t.info.Tail
	made, batches := make([]*appending, 0, len(ds)), make([]*Batch, 0, len(ds))
	for _, d := range ds {
		a := l.begin(ctx, t)
		if _, err = WritePlan(a, d); err == nil {
			err = a.prepare(t)
		}
		if err != nil {
			break
		}
		a.settle(t) // for the next one; forgotten if it does not come on record
		made, batches = append(made, a), append(batches, &a.batch)
	}
	refused := err
	if err == nil {
		if err = appendAllTo(ctx, l.store, batches); err == nil {
			for _, a := range made {
				a.end()
			}
			return false, nil
		}
	}
	for _, a := range made {
		if a.claim != nil {
			a.claim.recorded = false
		}
	}
	t.forget()
	if refused == nil {
		return errors.Is(err, ErrConflict), err
	}
	e := l.load(ctx, t)
	return e == nil && t.info.Tail != known, refused
}
