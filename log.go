package posthouse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A LogEntry is an entry of a thread's log with its records decoded.
type LogEntry struct {
	*Entry
	At      time.Time
	Records []Record
	Events  []*Event // the records with what their bodies say, where bodies were asked for
}

// Log yields a thread's entries, each checked against its hash, against the entry
// before it and against where the thread's summary says that the log ends:
// [ErrCorrupt] with thread and place for one that was changed, and where some are
// missing. Gaps that a deleted thread or a dropped release left are none. Of
// r.Seqs the entries are checked alone, and those absent are passed over. An
// unknown thread has no entries. [ErrConflict] if the thread was removed, and not
// by a record of it, while it was read.
func (l *Ledger) Log(ctx context.Context, thread string, r Range) iter.Seq2[*LogEntry, error] {
	return func(yield func(*LogEntry, error) bool) {
		if err := ValidateName("thread", thread); err != nil {
			yield(nil, err)
			return
		}
		for e, err := range l.inOrder(ctx, thread, r) {
			if err != nil {
				yield(nil, err)
				return
			}
			le := &LogEntry{Entry: e, At: e.Time()}
			if r.Headers {
				e.Bodies = nil
			}
			if le.Records, err = e.check(); err == nil && !r.Headers {
				le.Events, err = l.events(ctx, e, le.Records)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(le, nil) {
				return
			}
		}
	}
}

// inOrder yields what [Store.Read] does, and [ErrCorrupt] where an entry is
// missing or does not follow the one before. Hashes are the caller's to check:
// that chains what is read to what the summary says.
func (l *Core) inOrder(ctx context.Context, thread string, r Range) iter.Seq2[*Entry, error] {
	if r.Seqs != nil {
		return l.store.Read(ctx, thread, r)
	}
	return func(yield func(*Entry, error) bool) {
		o := order{l: l, ctx: ctx, thread: thread, r: r}
		info, err := l.summary(ctx, thread)
		if err == nil {
			o.tail, o.link = info.Tail, info.Link
		} else if !errors.Is(err, ErrNotFound) {
			yield(nil, err)
			return
		}
		n := 0
		for e, err := range l.store.Read(ctx, thread, r) {
			if err == nil {
				err = o.next(e)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			n++
			if !yield(e, nil) {
				return
			}
		}
		if n == r.Limit && n > 0 {
			return
		}
		if err := o.end(); err != nil {
			yield(nil, err)
		}
	}
}

// An order compares the entries of a thread, as they are read one after the other,
// with each other and with the thread's summary.
type order struct {
	l      *Core
	ctx    context.Context
	thread string
	r      Range
	tail   Position // as the summary had it before the first was read; zero if there was none
	link   Hash     // of the tail's entry
	last   mark     // of the entry read last; zero before the first
	gone   removals // as far as somebody had to ask
}

// A mark is what the order of a log needs to know of an entry. One without a link
// is an entry that was not read.
type mark struct {
	seq        uint64
	prev, link Hash
}

// follows reports whether b is the next entry behind a.
func (b mark) follows(a mark) bool {
	return b.seq == a.seq+1 && (a.link.IsZero() || b.link.IsZero() || b.prev == a.link) && (b.seq != 1 || b.prev.IsZero())
}

// next looks at the next entry.
func (o *order) next(e *Entry) error {
	m := mark{e.Seq, e.Prev, e.Link()}
	before, behind := o.last, m
	switch {
	case o.r.Reverse && o.last.seq == 0:
		before, behind = m, mark{seq: o.top() + 1}
		if m.seq > o.top() {
			behind.seq = m.seq + 1 // written since
		}
	case o.r.Reverse:
		before, behind = m, o.last
	case o.last.seq == 0:
		before = mark{seq: max(o.r.From, 1) - 1}
	}
	o.last = m
	if e.Seq == o.tail.Seq && m.link != o.link {
		return o.other(e)
	}
	if behind.follows(before) {
		return nil
	}
	if err := e.Check(); err != nil {
		return err // it says more
	}
	return o.gap(before, behind)
}

// other returns what is wrong with an entry that is not the one that the summary
// says the log ends with.
func (o *order) other(e *Entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	info, err := o.l.summary(o.ctx, o.thread)
	if err == nil && info.Tail == o.tail {
		return corrupt("entry %d of thread %q, or its signature, is not the one that the thread's summary says", e.Seq, o.thread)
	}
	if err == nil || errors.Is(err, ErrNotFound) {
		return o.changed()
	}
	return err
}

// top returns the last entry that must be there.
func (o *order) top() uint64 {
	if o.r.To != 0 {
		return min(o.r.To, o.tail.Seq)
	}
	return o.tail.Seq
}

// end looks at what should have come behind the last entry, none of whose
// followers was left out for the sake of a limit.
func (o *order) end() error {
	from := max(o.r.From, 1)
	switch {
	case o.top() < from:
		return nil
	case o.last.seq == 0:
		return o.gap(mark{seq: from - 1}, mark{seq: o.top() + 1})
	case o.r.Reverse && o.last.seq > from:
		return o.gap(mark{seq: from - 1}, o.last)
	case !o.r.Reverse && o.last.seq < o.top():
		return o.gap(o.last, mark{seq: o.top() + 1})
	case !o.r.Reverse && o.last.seq > o.tail.Seq:
		return o.grew()
	}
	return nil
}

// grew makes sure that the summary, too, goes as far as the entries read.
func (o *order) grew() error {
	info, err := o.l.summary(o.ctx, o.thread)
	if err == nil && info.Tail.Seq < o.last.seq && info.Tail == o.tail {
		return corrupt("entry %d of thread %q is behind the log's end, which the summary says is entry %d", o.last.seq, o.thread, o.tail.Seq)
	}
	if errors.Is(err, ErrNotFound) {
		return o.changed()
	}
	return err
}

// gap returns nil if a record of the log says why nothing is between two entries
// that do not follow one another, and else what is wrong.
func (o *order) gap(before, behind mark) error {
	if ok, err := o.removed(before, behind); ok || err != nil {
		return err
	}
	// A thread that was removed by other means, while it was read, is not damaged.
	info, err := o.l.summary(o.ctx, o.thread)
	if errors.Is(err, ErrNotFound) && o.tail.Seq > 0 || err == nil && info.Tail.Seq < o.tail.Seq {
		return o.changed()
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	for e, err := range o.l.store.Read(o.ctx, o.thread, Range{From: max(before.seq, 1), To: behind.seq, Headers: true}) {
		if err != nil {
			return err
		}
		if m := (mark{e.Seq, e.Prev, e.Link()}); m.seq == before.seq && m.link != before.link && !before.link.IsZero() ||
			m.seq == behind.seq && m.link != behind.link && !behind.link.IsZero() || m.seq > before.seq && m.seq < behind.seq {
			return o.changed()
		}
	}
	switch first, last := before.seq+1, behind.seq-1; {
	case first == last:
		return corrupt("entry %d of thread %q is missing", first, o.thread)
	case first < last:
		return corrupt("entries %d to %d of thread %q are missing", first, last, o.thread)
	}
	return corrupt("entry %d of thread %q does not follow entry %d", behind.seq, o.thread, before.seq)
}

// removed reports whether what is between two entries was removed, by what the
// log says now.
func (o *order) removed(before, behind mark) (bool, error) {
	if behind.seq <= before.seq+1 {
		return false, nil
	}
	if o.gone.explain(before.seq, behind.seq) {
		return true, nil
	}
	o.gone = removals{}
	versions := map[uint32]span{}
	for e, err := range o.l.store.Read(o.ctx, o.thread, Range{Headers: true}) {
		if err != nil {
			return false, err
		}
		e.Bodies = nil
		recs, err := e.check()
		if err != nil {
			return false, err
		}
		for i := range recs {
			switch rel, rem := recs[i].Release, recs[i].Removal; {
			case rem != nil && rem.Whole:
				o.gone.whole = e.Seq
			case rem != nil && rem.Version != 0:
				o.gone.versions = append(o.gone.versions, versions[rem.Version])
			case rel != nil:
				versions[rel.Version] = span{version: rel.Version, first: rel.First, last: e.Seq}
			}
		}
	}
	return o.gone.explain(before.seq, behind.seq), nil
}

// removals are what records say that is gone of a log.
type removals struct {
	whole    uint64 // all before this entry
	versions []span // but the last entry of each
}

// explain reports whether all between two entries is among it.
func (r *removals) explain(before, behind uint64) bool {
	return behind <= r.whole || slices.ContainsFunc(r.versions, func(s span) bool { return s.first <= before+1 && behind <= s.last })
}

// changed is the error for a thread that is not the one it was.
func (o *order) changed() error {
	return &Error{
		Code: CodeConflict, Message: fmt.Sprintf("thread %q was removed while it was read", o.thread),
		Hint: "read it again",
	}
}
