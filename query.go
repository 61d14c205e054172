package posthouse

import (
	"context"
	"iter"
)

// Get returns a checkpoint with its state. Every byte was checked against the
// hash it was written with: [ErrCorrupt] otherwise. [ErrNotFound].
func (l *Ledger) Get(ctx context.Context, id ID) (*Checkpoint, error) {
	c, err := l.get(ctx, id)
	if err == nil {
		l.opt.Observer.loaded(l.opt.Logger, &c.Header)
	}
	return c, err
}

// get is Get without the event.
func (l *Ledger) get(ctx context.Context, id ID) (*Checkpoint, error) {
	ref, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	b, err := l.rebuild(ctx, ref.Thread, ref.Seq)
	if err == nil && b.header.ID != id {
		err = misplaced(id, ref, b.header.ID)
	}
	if err != nil {
		return nil, l.unlessGate(ctx, id, ref, err)
	}
	return b.checkpoint()
}

func (l *Ledger) find(ctx context.Context, id ID) (Ref, error) {
	if err := id.Validate(); err != nil {
		return Ref{}, err
	}
	return l.store.Find(ctx, id)
}

// GetHeader returns a checkpoint without its state.
func (l *Ledger) GetHeader(ctx context.Context, id ID) (*Header, error) {
	ref, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	e, err := l.reader(ctx, ref.Thread).entry(ref.Seq, false)
	if err != nil {
		return nil, err
	}
	rec, _, err := e.checkpoint()
	if err != nil {
		return nil, notFound("checkpoint", id)
	}
	if rec.Checkpoint.ID != id {
		return nil, l.unlessGate(ctx, id, ref, misplaced(id, ref, rec.Checkpoint.ID))
	}
	return rec.Checkpoint, nil
}

func misplaced(id ID, ref Ref, holds ID) error {
	return corrupt("the index has %s at entry %d of thread %q, which holds %s", id, ref.Seq, ref.Thread, holds)
}

// unlessGate returns why a checkpoint could not be read, which is no damage if
// id is a gate's.
func (l *Ledger) unlessGate(ctx context.Context, id ID, ref Ref, err error) error {
	if _, e := l.gateAt(ctx, id, ref); e == nil {
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
	Node         string // the newest that this node made
}

// Latest returns the newest checkpoint that matches, with its state.
// [ErrNotFound] if there is none. Naming a thread costs the same however long
// its history is.
func (l *Ledger) Latest(ctx context.Context, q LatestQuery) (*Checkpoint, error) {
	c, err := l.latest(ctx, q)
	if err == nil {
		l.opt.Observer.loaded(l.opt.Logger, &c.Header)
	}
	return c, err
}

func (l *Ledger) latest(ctx context.Context, q LatestQuery) (*Checkpoint, error) {
	if q.Thread == "" && q.Coordination == "" {
		return nil, invalid("query", "names neither a thread nor a coordination")
	}
	if q.Thread != "" && q.Coordination == "" && q.Node == "" {
		info, err := l.Thread(ctx, q.Thread)
		if err != nil {
			return nil, err
		}
		b, ok := info.Branch(q.Branch)
		if !ok {
			return nil, notFound("checkpoint of thread", q.Thread)
		}
		r, err := l.rebuild(ctx, q.Thread, b.Seq)
		if err != nil {
			return nil, err
		}
		return r.checkpoint()
	}
	list := Query{Thread: q.Thread, Coordination: q.Coordination, Branch: q.Branch, Node: q.Node, Descending: true, Limit: 1}
	for h, err := range l.store.List(ctx, list) {
		if err != nil {
			return nil, err
		}
		r, err := l.rebuild(ctx, h.Thread, h.Seq)
		if err != nil {
			return nil, err
		}
		return r.checkpoint()
	}
	return nil, notFound("checkpoint of", firstOf(q.Coordination, q.Thread))
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// List yields the headers of matching checkpoints.
func (l *Ledger) List(ctx context.Context, q Query) iter.Seq2[*Header, error] {
	if q.After != "" {
		if _, _, err := ParseCursor(q.After); err != nil {
			return func(yield func(*Header, error) bool) { yield(nil, err) }
		}
	}
	return l.store.List(ctx, q)
}

// ListStates is List with each checkpoint's state.
func (l *Ledger) ListStates(ctx context.Context, q Query) iter.Seq2[*Checkpoint, error] {
	return func(yield func(*Checkpoint, error) bool) {
		readers := map[string]*logReader{}
		for h, err := range l.List(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			r := readers[h.Thread]
			if r == nil {
				clear(readers)
				r = l.reader(ctx, h.Thread)
				readers[h.Thread] = r
			}
			b, err := r.rebuild(h.Seq)
			if err != nil {
				yield(nil, err)
				return
			}
			c, err := b.checkpoint()
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// Thread returns a thread's summary. [ErrNotFound].
func (l *Ledger) Thread(ctx context.Context, thread string) (*ThreadInfo, error) {
	if err := validateName("thread", thread); err != nil {
		return nil, err
	}
	for t, err := range l.store.Threads(ctx, ThreadQuery{Thread: thread}) {
		if err == nil && t.gone() {
			break
		}
		return t, err
	}
	return nil, notFound("thread", thread)
}

// Threads yields matching summaries, deleted threads excepted.
func (l *Ledger) Threads(ctx context.Context, q ThreadQuery) iter.Seq2[*ThreadInfo, error] {
	limit := q.Limit
	q.Limit = 0
	return func(yield func(*ThreadInfo, error) bool) {
		n := 0
		for t, err := range l.store.Threads(ctx, q) {
			if err == nil && t.gone() {
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

// gone reports that nothing is left of a thread but the record that says so.
func (t *ThreadInfo) gone() bool { return len(t.Branches) == 0 && t.Checkpoints == 0 }
