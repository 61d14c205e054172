package posthouse

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"
)

// CopyStoreOptions refine CopyStore. Nil is the zero value.
type CopyStoreOptions struct {
	Slots    []string           // steps whose slots go along, where the source is no [SlotLister]
	Workers  int                // threads copied at once; default 8
	Progress func(*StoreCopied) // called after each thread, one call at a time
}

// A StoreCopied says how far a copy got.
type StoreCopied struct {
	Threads  int   `json:"threads"`
	Entries  int   `json:"entries"` // copied now
	Skipped  int   `json:"skipped"` // entries that were there from an earlier copy
	Slots    int   `json:"slots"`
	Bytes    int64 `json:"bytes"`    // of entries and bodies copied now
	Verified int   `json:"verified"` // threads read back and compared
}

// CopyStore puts all threads of a store into another, of whatever kind, as
// they are: entries, hashes, signatures, slots; processes' liveness excepted.
// It uses nothing but the contract of [Store]. A copy that was interrupted goes
// on where it stopped when it is asked for again, and one that is asked for
// again later takes what is new. At the end every thread is read back from the
// target and compared with the source. The source may be in use; what is
// appended while its thread is copied is left for the next time. A thread that
// is damaged is copied as far as it is not, and is part of the error,
// [ErrCorrupt]; so is one that the target has another log of, or that was
// deleted in the source since, [ErrConflict], which is left as it is. The others
// are copied all the same, so that a backup can take what came after it from the
// store it was made of. [ErrExists] if an id is taken.
func CopyStore(ctx context.Context, from, to Store, o *CopyStoreOptions) (*StoreCopied, error) {
	if o == nil {
		o = &CopyStoreOptions{}
	}
	if o.Workers < 0 {
		return nil, invalid("Workers", "is negative")
	}
	c := &storeCopy{from: from, to: to, opt: *o}
	if c.opt.Workers == 0 {
		c.opt.Workers = 8
	}
	passed, err := c.each(ctx, c.whole)
	if err == nil {
		err = c.strays(ctx)
	}
	if checker, ok := to.(Checker); ok && err == nil {
		for e := range checker.Check(ctx) {
			err = errors.Join(err, e)
		}
	}
	return &c.done, errors.Join(passed, err)
}

type storeCopy struct {
	from, to Store
	opt      CopyStoreOptions

	mu   sync.Mutex
	done StoreCopied
}

func (c *storeCopy) count(f func(*StoreCopied)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.done)
}

// each calls f for every thread, several at once, until one fails by more than
// what is the matter with that thread.
func (c *storeCopy) each(ctx context.Context, f func(context.Context, string) error) (passed, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	names := make(chan string)
	var workers sync.WaitGroup
	for range c.opt.Workers {
		workers.Go(func() {
			for name := range names {
				switch err := f(ctx, name); {
				case errors.Is(err, ErrCorrupt), errors.Is(err, ErrConflict):
					c.mu.Lock()
					passed = errors.Join(passed, err)
					c.mu.Unlock()
				case err != nil:
					stop(err)
				}
			}
		})
	}
	for t, err := range c.from.Threads(ctx, ThreadQuery{}) {
		if err != nil {
			stop(err)
			break
		}
		select {
		case names <- t.Thread:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(names)
	workers.Wait()
	return passed, context.Cause(ctx)
}

// whole copies a thread and reads it back; again, if something was removed from
// it in the source while it was copied.
func (c *storeCopy) whole(ctx context.Context, name string) error {
	err := c.thread(ctx, name)
	if err == nil {
		if err = c.verify(ctx, name); errors.Is(err, ErrCorrupt) {
			if err = c.thread(ctx, name); err == nil {
				err = c.verify(ctx, name)
			}
		}
	}
	if err == nil {
		c.count(func(d *StoreCopied) {
			d.Threads, d.Verified = d.Threads+1, d.Verified+1
			if c.opt.Progress != nil {
				progress := *d
				c.opt.Progress(&progress)
			}
		})
	}
	return err
}

// thread copies one thread as far as its log goes now.
func (c *storeCopy) thread(ctx context.Context, name string) error {
	bodies := func(seq uint64) ([][]byte, error) {
		for e, err := range c.from.Read(ctx, name, Range{Seqs: []uint64{seq}}) {
			if err != nil {
				return nil, err
			}
			return e.Bodies, e.Check()
		}
		return nil, corrupt("entry %d of thread %q is missing", seq, name)
	}
	first := newReplay(nil)
	for e, err := range c.from.Read(ctx, name, Range{Headers: true}) {
		if err != nil {
			return err
		}
		e.Bodies = nil
		if _, err := first.next(e, bodies); err != nil {
			return err
		}
	}
	if first.info == nil {
		return nil
	}
	slots, err := slotsOf(ctx, c.from, name, c.opt.Slots)
	if err == nil {
		err = c.slots(ctx, slots) // first: they may hold what opens the log
	}
	if err != nil {
		return err
	}
	have, err := tailOf(ctx, c.to, name)
	if err != nil {
		return err
	}
	return c.entries(ctx, name, first, have, bodies)
}

func tailOf(ctx context.Context, s Store, thread string) (tail Position, err error) {
	for t, err := range s.Threads(ctx, ThreadQuery{Thread: thread}) {
		if err != nil {
			return tail, err
		}
		tail = t.Tail
	}
	return tail, nil
}

// entries appends what the target does not have.
func (c *storeCopy) entries(ctx context.Context, name string, first *replay, have Position, bodies func(uint64) ([][]byte, error)) error {
	p, met := first.again(), have == Position{}
	ranges := []Range{{From: have.Seq + 1, To: first.info.Tail.Seq}}
	if have.Seq > 0 {
		ranges = []Range{{To: have.Seq, Headers: true}, ranges[0]}
	}
	for _, r := range ranges {
		if r.To < r.From {
			break
		}
		for e, err := range c.from.Read(ctx, name, r) {
			if err != nil {
				return err
			}
			if r.Headers {
				e.Bodies = nil
			}
			b, err := p.next(e, bodies)
			if err != nil {
				return err
			}
			if e.Seq <= have.Seq {
				met = met || Position{e.Seq, e.Hash} == have
				c.count(func(d *StoreCopied) { d.Skipped++ })
				continue
			}
			if !met {
				break
			}
			if err := c.append(ctx, b); err != nil {
				return err
			}
		}
	}
	if met {
		return nil
	}
	message := "thread " + name + " has another log in the target than in the source"
	if first.first > have.Seq {
		message = "thread " + name + " has entries in the target that were deleted in the source"
	}
	return &Error{Code: CodeConflict, Tail: &have, Message: message, Hint: "the target's is left as it was; delete it there, or copy into an empty store"}
}

func (c *storeCopy) append(ctx context.Context, b *Batch) error {
	err := c.to.Append(ctx, b)
	for try := 0; errors.Is(err, ErrUnknown) && ctx.Err() == nil && try < 3; try++ {
		err = c.to.Append(ctx, b)
	}
	if err != nil {
		return err
	}
	size := len(b.Entry.Header) + len(b.Entry.Sig)
	for _, body := range b.Entry.Bodies {
		size += len(body)
	}
	c.count(func(d *StoreCopied) { d.Entries, d.Bytes = d.Entries+1, d.Bytes+int64(size) })
	return nil
}

func (c *storeCopy) slots(ctx context.Context, slots []*SlotItem) error {
	for _, s := range slots {
		_, err := c.to.Slot(ctx, s.Key, SlotOp{Verb: SlotPut, Revision: AnyRevision, Fence: s.Fence, Value: s.Value})
		if err != nil {
			return err
		}
		c.count(func(d *StoreCopied) { d.Slots++ })
	}
	return nil
}

// strays copies the slots of what has no log, such as sessions.
func (c *storeCopy) strays(ctx context.Context) error {
	lister, ok := c.from.(SlotLister)
	if !ok {
		return nil
	}
	known := map[string]bool{ProcessThread: true}
	for s, err := range lister.Slots(ctx, "") {
		if err != nil {
			return err
		}
		has, seen := known[s.Key.Thread]
		if !seen {
			tail, err := tailOf(ctx, c.from, s.Key.Thread)
			if err != nil {
				return err
			}
			has = tail.Seq > 0
			known[s.Key.Thread] = has
		}
		if has {
			continue
		}
		if err := c.slots(ctx, []*SlotItem{s}); err != nil {
			return err
		}
	}
	return nil
}

// verify reads a thread back and compares it, entry by entry.
func (c *storeCopy) verify(ctx context.Context, name string) error {
	there, stop := iter.Pull2(c.from.Read(ctx, name, Range{Headers: true}))
	defer stop()
	p := newReplay(nil)
	var want *Entry
	for e, err := range c.to.Read(ctx, name, Range{}) {
		if err != nil {
			return err
		}
		if _, err := p.next(e, nil); err != nil {
			return err
		}
		for want == nil || want.Seq < e.Seq {
			w, err, ok := there()
			if err != nil {
				return err
			}
			if !ok {
				return corrupt("entry %d of the copy of thread %q is not in the source", e.Seq, name)
			}
			want = w
		}
		if want.Seq == e.Seq && (want.Hash != e.Hash || !bytes.Equal(want.Sig, e.Sig)) {
			return corrupt("entry %d of thread %q is another in the copy", e.Seq, name)
		}
	}
	return p.lost()
}
