package posthouse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// Get returns a checkpoint with its state. Every byte was checked against the
// hash it was written with: [ErrCorrupt] otherwise. [ErrNotFound].
func (l *Core) Get(ctx context.Context, id ID) (*Checkpoint, error) {
	c, err := l.get(ctx, id)
	if err == nil {
		l.observeCheckpoint(OpLoaded, &c.Header)
	}
	return c, err
}

// get is Get without the event.
func (l *Core) get(ctx context.Context, id ID) (c *Checkpoint, err error) {
	err = l.at(ctx, id, func(r *logReader, ref Ref) error {
		r.known = l.knownParts(ref.Thread, ref.Seq)
		b, err := r.rebuild(ref.Seq)
		if err == nil && b.header.ID != id {
			err = misplaced(id, ref, b.header.ID)
		}
		if err != nil {
			return l.unlessGate(ctx, id, ref, err)
		}
		l.learn(b)
		c, err = b.checkpoint()
		return err
	})
	return c, err
}

func (l *Core) find(ctx context.Context, id ID) (Ref, error) {
	if err := id.Validate(); err != nil {
		return Ref{}, err
	}
	return l.store.Find(ctx, id)
}

// at reads at an id's place. What looks like damage may be a removal or a
// replacement that came between finding and reading: then it reads again.
func (l *Core) at(ctx context.Context, id ID, read func(*logReader, Ref) error) error {
	ref, err := l.find(ctx, id)
	for err == nil {
		was := ref
		if err = read(l.reader(ctx, ref.Thread), ref); !mayBeGone(err) {
			return err
		}
		damage := err
		if ref, err = l.find(ctx, id); ref == was {
			return damage
		}
	}
	return err
}

// mayBeGone reports whether an error may come of a removal in the middle of a
// read: bodies that are not there, or that nothing opens any more.
func mayBeGone(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrSealed) }

// GetHeader returns a checkpoint without its state. [ErrNotFound].
func (l *Core) GetHeader(ctx context.Context, id ID) (h *Header, err error) {
	err = l.at(ctx, id, func(r *logReader, ref Ref) error {
		e, err := r.entry(ref.Seq, false)
		if err != nil {
			return err
		}
		rec, _, err := e.checkpoint()
		if err != nil {
			return notFound("checkpoint", id)
		}
		if h = rec.Checkpoint; h.ID != id {
			return l.unlessGate(ctx, id, ref, misplaced(id, ref, h.ID))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func misplaced(id ID, ref Ref, holds ID) error {
	return corrupt("the index has %s at entry %d of thread %q, which holds %s", id, ref.Seq, ref.Thread, holds)
}

// unlessGate returns why a checkpoint could not be read, which is no damage if
// id is a gate's.
func (l *Core) unlessGate(ctx context.Context, id ID, ref Ref, err error) error {
	if _, e := l.reader(ctx, ref.Thread).gateAt(id, ref.Seq); e == nil {
		return notFound("checkpoint", id)
	}
	if s, e := l.reader(ctx, ref.Thread).signal(ref.Seq); e == nil && s.ID == id {
		return notFound("checkpoint", id)
	}
	return err
}

// A LatestQuery says whose newest checkpoint is wanted. At least a thread or a
// coordination must be named.
type LatestQuery struct {
	Thread       string
	Branch       string // of the thread; "" is main, unless Node is set: then any
	Coordination string // over all its threads
	Node         string // the newest that this node made, alone or with others
}

// Latest returns the newest checkpoint that matches, with its state.
// [ErrNotFound] if there is none, [ErrInvalid] if q names neither a thread nor a
// coordination. Naming a thread costs the same however long its history is.
func (l *Ledger) Latest(ctx context.Context, q LatestQuery) (*Checkpoint, error) {
	c, err := l.latest(ctx, q)
	if err == nil {
		l.observeCheckpoint(OpLoaded, &c.Header)
	}
	return c, err
}

func (l *Ledger) latest(ctx context.Context, q LatestQuery) (*Checkpoint, error) {
	if q.Thread == "" && q.Coordination == "" {
		return nil, invalid("query", "names neither a thread nor a coordination")
	}
	var was Ref
	for {
		ref, err := l.newest(ctx, q)
		if err != nil {
			return nil, err
		}
		b, err := l.rebuild(ctx, ref.Thread, ref.Seq)
		switch {
		case err == nil:
			return b.checkpoint()
		case !mayBeGone(err) || ref == was:
			return nil, err
		}
		was = ref // unless it was removed since, this is damage
	}
}

// newest finds what [Ledger.Latest] is to read.
func (l *Ledger) newest(ctx context.Context, q LatestQuery) (Ref, error) {
	if q.Thread != "" && q.Coordination == "" && q.Node == "" {
		info, err := l.Thread(ctx, q.Thread)
		if err != nil {
			return Ref{}, err
		}
		b, ok := info.Branch(q.Branch)
		if !ok {
			return Ref{}, notFound("branch "+firstOf(q.Branch, MainBranch)+" of thread", q.Thread)
		}
		return Ref{q.Thread, b.Seq}, nil
	}
	list := Query{Thread: q.Thread, Coordination: q.Coordination, Branch: q.Branch, Node: q.Node, Descending: true, Limit: 1}
	for h, err := range l.List(ctx, list) {
		if err != nil {
			return Ref{}, err
		}
		return Ref{h.Thread, h.Seq}, nil
	}
	what := "checkpoint"
	if q.Node != "" {
		what += " of node " + q.Node
	}
	if q.Branch != "" {
		what += " on branch " + q.Branch
	}
	return Ref{}, notFound(what+" of", firstOf(q.Coordination, q.Thread))
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// List yields the headers of matching checkpoints, oldest first unless
// Descending: of a named thread in the log's order, and of its current generation
// unless the query names another; across threads in the order of [OrderKey].
// With [Query.Open] it reads the summary of each thread besides. Headers are
// checked as far as the store does so for a list, SQLite by checksums; [Ledger.Get]
// and [Ledger.Log] check hashes, and notice what an index has lost.
// [ErrInvalid] for a cursor that is none; an unknown thread has none.
func (l *Core) List(ctx context.Context, q Query) iter.Seq2[*Header, error] {
	return func(yield func(*Header, error) bool) {
		if q.After != "" {
			if _, _, err := ParseCursor(q.After); err != nil {
				yield(nil, err)
				return
			}
		}
		q, err := l.within(ctx, q)
		if err != nil {
			if !errors.Is(err, ErrNotFound) {
				yield(nil, err)
			}
			return
		}
		list := l.store.List
		if q.Open {
			list = l.listOpen
		}
		for h, err := range list(ctx, q) {
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// listOpen lists what is open by the threads' summaries, of all that the rest of
// the query selects.
func (l *Core) listOpen(ctx context.Context, q Query) iter.Seq2[*Header, error] {
	limit := q.Limit
	q.Limit, q.Open = 0, false
	return func(yield func(*Header, error) bool) {
		n := 0
		var t *ThreadInfo // of the header before: those of a thread often come together
		for h, err := range l.store.List(ctx, q) {
			if err == nil && (t == nil || t.Thread != h.Thread) {
				t, err = l.summary(ctx, h.Thread)
			}
			switch {
			case errors.Is(err, ErrNotFound):
				continue // deleted since it was listed
			case err != nil:
				yield(nil, err)
				return
			case !t.isOpen(h):
				continue
			case !yield(h, nil):
				return
			}
			if n++; n == limit {
				return
			}
		}
	}
}

// isOpen reports whether a checkpoint is the head of a branch that waits, or
// that has open gates.
func (t *ThreadInfo) isOpen(h *Header) bool {
	b, ok := t.Branch(h.Branch)
	return ok && b.Head == h.ID && (b.Status == StatusWaiting ||
		slices.ContainsFunc(t.Waiting, func(w WaitingGate) bool { return w.Branch == b.Branch }))
}

// Count returns how many checkpoints [Ledger.List] would yield. Those of a thread's
// current generation, with no other filter, are counted in its summary; else the
// headers are read, which takes as long as listing them.
func (l *Ledger) Count(ctx context.Context, q Query) (n int, err error) {
	if q.Thread != "" && q == (Query{Thread: q.Thread, Descending: q.Descending, Limit: q.Limit}) {
		info, err := l.summary(ctx, q.Thread)
		switch {
		case errors.Is(err, ErrNotFound):
			return 0, nil
		case err != nil:
			return 0, err
		case q.Limit > 0:
			return min(info.Checkpoints, q.Limit), nil
		}
		return info.Checkpoints, nil
	}
	for _, err := range l.List(ctx, q) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// within narrows a query for a thread to the entries of the generation it asks
// for, so that a store need not pass over the others. [ErrNotFound] if there is
// no such generation.
func (l *Core) within(ctx context.Context, q Query) (Query, error) {
	if q.Thread == "" {
		return q, nil
	}
	info, err := l.summary(ctx, q.Thread)
	switch {
	case err != nil:
		return q, err
	case q.Generation == 0 || q.Generation == info.Generation:
		q.From = max(q.From, info.First)
		return q, nil
	}
	r, err := l.ReleaseOf(ctx, q.Thread, strconv.FormatUint(uint64(q.Generation), 10))
	if err != nil {
		return q, err
	}
	q.From = max(q.From, r.First)
	if q.To == 0 || q.To > r.Seq {
		q.To = r.Seq
	}
	return q, nil
}

// summary returns a thread's summary, also that of one that has ended.
func (l *Core) summary(ctx context.Context, thread string) (*ThreadInfo, error) {
	if err := ValidateName("thread", thread); err != nil {
		return nil, err
	}
	for t, err := range l.store.Threads(ctx, ThreadQuery{Thread: thread}) {
		return t, err
	}
	return nil, notFound("thread", thread)
}

// ListStates is List with each checkpoint's state. One that is deleted while the
// list is read may be left out. One whose state cannot be read ([ErrCorrupt],
// [ErrSealed]) is yielded with its header and the error; whoever goes on is given
// the others. Any other error is the last element, without a checkpoint.
func (l *Ledger) ListStates(ctx context.Context, q Query) iter.Seq2[*Checkpoint, error] {
	return func(yield func(*Checkpoint, error) bool) {
		r := l.reader(ctx, "")
		for h, err := range l.List(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			if r.thread != h.Thread {
				r = l.reader(ctx, h.Thread)
			}
			var c *Checkpoint
			b, err := r.rebuild(h.Seq)
			if err == nil {
				c, err = b.checkpoint()
			} else if mayBeGone(err) {
				if ref, e := l.store.Find(ctx, h.ID); errors.Is(e, ErrNotFound) || e == nil && ref != (Ref{h.Thread, h.Seq}) {
					continue // deleted or replaced since it was listed
				}
			}
			damaged := mayBeGone(err)
			if damaged {
				c = &Checkpoint{Header: *h}
			}
			if !yield(c, err) || err != nil && !damaged {
				return
			}
		}
	}
}

// Thread returns a thread's summary. [ErrNotFound], also for one that was
// released and has not begun anew since: [Ledger.Releases] knows it.
func (l *Core) Thread(ctx context.Context, thread string) (*ThreadInfo, error) {
	t, err := l.summary(ctx, thread)
	if err == nil && t.gone() {
		return nil, t.absent()
	}
	return t, err
}

// Threads yields matching summaries by name, or by due time where DueBefore is
// set, deleted threads excepted and, unless q.Released asks for them, those that
// were released and have not begun anew.
func (l *Core) Threads(ctx context.Context, q ThreadQuery) iter.Seq2[*ThreadInfo, error] {
	limit := q.Limit
	q.Limit = 0
	return func(yield func(*ThreadInfo, error) bool) {
		n := 0
		for t, err := range l.store.Threads(ctx, q) {
			if err == nil && t.gone() && !(q.Released && t.Releases > 0) {
				continue
			}
			if !yield(t, err) || err != nil {
				return
			}
			if n++; n == limit {
				return
			}
		}
	}
}

// absent says of a thread that is gone that it is, and where its versions are.
func (t *ThreadInfo) absent() *Error {
	e := notFound("thread", t.Thread)
	if t.Releases > 0 {
		e.Message = fmt.Sprintf("thread %q was released, and nothing has begun under its name since", t.Thread)
		e.Hint = "see its versions: posthouse thread versions " + t.Thread + ", or Ledger.Releases"
	}
	return e
}

// gone reports that a thread's name is free: nothing is left of it, or what
// there was is released.
func (t *ThreadInfo) gone() bool {
	return len(t.Branches) == 0 && t.Checkpoints == 0 && len(t.Signals) == 0
}
