package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/encryption"
)

// CopyStoreOptions refine [CopyStore]. Nil is the zero value.
type CopyStoreOptions struct {
	Slots       []string           // steps to copy the slots of if the source is no [posthouse.SlotLister]
	Concurrency int                // threads copied at once; default 8
	Progress    func(*StoreCopied) // called after each thread, one call at a time

	// DryRun reads all that would be copied, and writes nothing: the counts are those of a copy, and the
	// errors too, but what the target would refuse is not known. Nothing is read back, so Verified is 0.
	DryRun bool
}

// A StoreCopied counts what a copy has done.
type StoreCopied struct {
	Threads  int   `json:"threads"`
	Entries  int   `json:"entries"` // copied now
	Skipped  int   `json:"skipped"` // entries that the target had from an earlier copy
	Slots    int   `json:"slots"`
	Bytes    int64 `json:"bytes"`    // of entries and bodies copied now
	Verified int   `json:"verified"` // threads read back and compared
	DryRun   bool  `json:"dryRun,omitempty"`
}

// CopyStore copies all threads of a store into another store of any kind, as they are:
// entries, hashes, signatures and slots, except the heartbeats of processes. The endpoints of a
// notifier go on by time there, since cursors are a store's own. Then it reads
// each thread back from the target and compares it with the source. Signatures are not
// checked: sign.Verify does that, on either store.
//
// It can be called again, after an interruption or later, and copies what the target
// lacks. The source may be in use. Entries that are appended to a thread while it is
// copied are left for the next call.
//
// A thread that cannot be copied does not stop the others, and is part of the error. The
// error names up to 100 threads of each kind:
//
//   - [posthouse.ErrCorrupt]: the thread is damaged. If a body is damaged, the entries
//     before it are copied. If a header or the list of a removal is, nothing is copied.
//   - [posthouse.ErrConflict]: the target has another log of the thread, or one that was
//     deleted in the source. It stays as it is, slots included.
//
// CopyStore fails with [posthouse.ErrExists] if an id is taken in the target. A copy of an
// encrypted store is marked as encrypted, and has the source's [StoreID] unless it has one. It fails with [posthouse.ErrSealed], before it
// copies anything, if the target is encrypted and the source is not.
func CopyStore(ctx context.Context, from, to posthouse.Store, o *CopyStoreOptions) (*StoreCopied, error) {
	if o == nil {
		o = &CopyStoreOptions{}
	}
	if o.Concurrency < 0 {
		return nil, posthouse.Invalid("Concurrency", "is negative")
	}
	c := &storeCopier{from: from, to: to, opt: *o, done: StoreCopied{DryRun: o.DryRun}}
	if o.DryRun {
		to = unwritten{to}
		c.to = to
	}
	if c.opt.Concurrency == 0 {
		c.opt.Concurrency = 8
	}
	if err := encryption.CopyMark(ctx, from, to); err != nil {
		return nil, err
	}
	if err := copyStoreID(ctx, from, to); err != nil {
		return nil, err
	}
	err := c.each(ctx, c.whole)
	if err == nil {
		err = c.looseSlots(ctx)
	}
	var unsound errorList
	if checker, ok := to.(posthouse.Checker); ok && err == nil {
		for e := range checker.Check(ctx) {
			unsound.add(e)
		}
	}
	return &c.done, errors.Join(c.corrupt.join("damaged threads"), c.conflict.join("threads that differ"), err, unsound.join("errors of the target"))
}

// An errorList keeps the first errors and counts the rest.
type errorList struct {
	kept []error
	more int
}

const maxKept = 100

func (s *errorList) add(err error) {
	if len(s.kept) == maxKept {
		s.more++
	} else {
		s.kept = append(s.kept, err)
	}
}

// join returns the errors as one, which says how many more there were.
func (s *errorList) join(what string) error {
	errs := slices.Clone(s.kept)
	if s.more > 0 {
		errs = append(errs, fmt.Errorf("and %d more %s", s.more, what))
	}
	return errors.Join(errs...)
}

type storeCopier struct {
	from, to posthouse.Store
	opt      CopyStoreOptions

	mu                sync.Mutex
	done              StoreCopied
	corrupt, conflict errorList // of threads that were skipped
}

func (c *storeCopier) count(f func(*StoreCopied)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.done)
}

// each calls f for every thread, several at once. It stops at an error that is about more
// than one thread.
func (c *storeCopier) each(ctx context.Context, f func(context.Context, string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	names := make(chan string)
	var workers sync.WaitGroup
	for range c.opt.Concurrency {
		workers.Go(func() {
			for name := range names {
				if err := f(ctx, name); err != nil && !c.passes(err) {
					stop(err)
				}
			}
		})
	}
	for t, err := range c.from.Threads(ctx, posthouse.ThreadQuery{}) {
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
	return context.Cause(ctx)
}

// passes reports whether err is about one thread only. It keeps such an error.
func (c *storeCopier) passes(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, posthouse.ErrCorrupt):
		c.corrupt.add(err)
	case errors.Is(err, posthouse.ErrConflict):
		c.conflict.add(err)
	default:
		return false
	}
	return true
}

// whole copies a thread and reads it back. It tries once more if the copy differs, because
// something may have been removed from the source during the copy.
func (c *storeCopier) whole(ctx context.Context, name string) error {
	for try := 1; ; try++ {
		if err := c.thread(ctx, name); err != nil {
			return err
		}
		if c.opt.DryRun {
			break
		}
		err := c.verify(ctx, name)
		if err == nil {
			break
		}
		if try == 2 || !errors.Is(err, posthouse.ErrCorrupt) {
			return err
		}
	}
	c.count(func(d *StoreCopied) {
		d.Threads++
		if !c.opt.DryRun {
			d.Verified++
		}
		if c.opt.Progress != nil {
			progress := *d
			c.opt.Progress(&progress)
		}
	})
	return nil
}

// thread copies one thread up to the current end of its log.
func (c *storeCopier) thread(ctx context.Context, name string) error {
	bodies := func(seq uint64) ([][]byte, error) {
		for e, err := range c.from.Read(ctx, name, posthouse.Range{Seqs: []uint64{seq}}) {
			if err != nil {
				return nil, err
			}
			return e.Bodies, e.Check()
		}
		return nil, posthouse.Corrupt("entry %d of thread %q is missing", seq, name)
	}
	have, err := tailOf(ctx, c.to, name)
	if err != nil {
		return err
	}
	tail, err := tailOf(ctx, c.from, name)
	if err != nil {
		return err
	}
	first, met := newReplay(nil), have == posthouse.Position{}
	for e, err := range c.from.Read(ctx, name, posthouse.Range{Headers: true}) {
		if err != nil {
			return err
		}
		e.Bodies = nil
		if _, err := first.next(e, bodies); err != nil {
			return err
		}
		met = met || posthouse.Position{Seq: e.Seq, Hash: e.Hash} == have
	}
	if err := first.reached(name, tail); err != nil || first.info == nil {
		return err
	}
	if !met { // before anything is written: a slot may hold the key of the target's log
		return differs(name, have, first.first > have.Seq)
	}
	slots, err := slotsOf(ctx, c.from, name, c.opt.Slots)
	if err == nil {
		err = c.slots(ctx, slots) // before the entries: slots may hold their keys
	}
	if err != nil {
		return err
	}
	return c.entries(ctx, name, first, have, bodies)
}

// differs returns the error for a thread with a log in the target that does not begin the
// source's log.
func differs(thread string, have posthouse.Position, deleted bool) error {
	message := "thread " + thread + " has another log in the target than in the source"
	if deleted {
		message = "thread " + thread + " has entries in the target that were deleted in the source"
	}
	return &posthouse.Error{Code: posthouse.CodeConflict, Tail: &have, Message: message, Hint: "the target's is left as it was; delete it there, or copy into an empty store"}
}

func tailOf(ctx context.Context, s posthouse.Store, thread string) (tail posthouse.Position, err error) {
	for t, err := range s.Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			return tail, err
		}
		tail = t.Tail
	}
	return tail, nil
}

// entries appends the entries that the target lacks.
func (c *storeCopier) entries(ctx context.Context, name string, first *replay, have posthouse.Position, bodies func(uint64) ([][]byte, error)) error {
	p := first.again()
	out := &core.Bulk{Ctx: ctx, Store: c.to, Took: func(bs []*posthouse.Batch) {
		c.count(func(d *StoreCopied) {
			for _, b := range bs {
				d.Entries, d.Bytes = d.Entries+1, d.Bytes+int64(b.Entry.Size())
			}
		})
	}}
	ranges := []posthouse.Range{{From: have.Seq + 1, To: first.info.Tail.Seq}}
	if have.Seq > 0 {
		ranges = []posthouse.Range{{To: have.Seq, Headers: true}, ranges[0]}
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
				c.count(func(d *StoreCopied) { d.Skipped++ })
				continue
			}
			if err := out.Add(b); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func (c *storeCopier) slots(ctx context.Context, slots []*posthouse.SlotItem) error {
	for _, s := range slots {
		_, err := c.to.Slot(ctx, s.Key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: s.Fence, Value: withoutCursor(s)})
		if err != nil {
			return err
		}
		c.count(func(d *StoreCopied) { d.Slots++ })
	}
	return nil
}

// The slots of a notifier's endpoints.
const (
	endpointThread = "$notify"
	endpointSteps  = "state-"
)

// withoutCursor returns the value of a slot for another store. A cursor of this one would lead an
// endpoint anywhere there; without one it goes on by time.
func withoutCursor(s *posthouse.SlotItem) []byte {
	if s.Key.Thread != endpointThread || !strings.HasPrefix(s.Key.Step, endpointSteps) {
		return s.Value
	}
	var kept map[string]json.RawMessage
	if json.Unmarshal(s.Value, &kept) != nil || kept["cursor"] == nil {
		return s.Value
	}
	delete(kept, "cursor")
	value, err := json.Marshal(kept)
	if err != nil {
		return s.Value
	}
	return value
}

// looseSlots copies slots that belong to no log, such as those of sessions. It reports a
// conflict if the target has a log of that name.
func (c *storeCopier) looseSlots(ctx context.Context) error {
	lister, ok := c.from.(posthouse.SlotLister)
	if !ok {
		return nil
	}
	known := map[string]bool{posthouse.ProcessThread: true}
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
			there, err := tailOf(ctx, c.to, s.Key.Thread)
			if err != nil {
				return err
			}
			has = tail.Seq > 0 || there.Seq > 0
			if has && tail.Seq == 0 {
				c.conflict.add(differs(s.Key.Thread, there, false))
			}
			known[s.Key.Thread] = has
		}
		if has {
			continue
		}
		if err := c.slots(ctx, []*posthouse.SlotItem{s}); err != nil {
			return err
		}
	}
	return nil
}

// verify reads a thread back and compares it, entry by entry.
func (c *storeCopier) verify(ctx context.Context, name string) error {
	there, stop := iter.Pull2(c.from.Read(ctx, name, posthouse.Range{Headers: true}))
	defer stop()
	p := newReplay(nil)
	var want *posthouse.Entry
	for e, err := range c.to.Read(ctx, name, posthouse.Range{}) {
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
				return posthouse.Corrupt("entry %d of the copy of thread %q is not in the source", e.Seq, name)
			}
			want = w
		}
		if want.Seq == e.Seq && (want.Hash != e.Hash || !bytes.Equal(want.Sig, e.Sig)) {
			return posthouse.Corrupt("entry %d of thread %q is another in the copy", e.Seq, name)
		}
	}
	return p.checkComplete()
}
