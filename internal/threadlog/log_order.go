package threadlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
)

// InOrder yields what [posthouse.Store.Read] does, and [posthouse.ErrCorrupt] where an
// entry is missing or does not follow the one before. It does not check hashes: callers
// do, which chains the entries to the summary's tail.
func (l *Logs) InOrder(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	if r.Seqs != nil {
		return l.Store.Read(ctx, thread, r)
	}
	return func(yield func(*posthouse.Entry, error) bool) {
		o := LogOrder{Logs: l, Ctx: ctx, Thread: thread, r: r}
		info, err := l.Summary(ctx, thread)
		if err == nil {
			o.tail, o.link = info.Tail, info.Link
		} else if !errors.Is(err, posthouse.ErrNotFound) {
			yield(nil, err)
			return
		}
		n := 0
		for e, err := range l.Store.Read(ctx, thread, r) {
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
		if err := o.checkEnd(); err != nil {
			yield(nil, err)
		}
	}
}

// A LogOrder checks that entries read in order follow one another, and end where
// the thread's summary says.
type LogOrder struct {
	Logs   *Logs
	Ctx    context.Context
	Thread string
	r      posthouse.Range
	tail   posthouse.Position // the summary's before the first entry was read; zero without a summary
	link   posthouse.Hash     // of the tail's entry
	last   LinkMark           // of the entry read last; zero before the first
	gone   removals           // as far as somebody had to ask
}

// A LinkMark is what the order of a log depends on in an entry. One without a link is an
// entry that was not read.
type LinkMark struct {
	Seq        uint64
	Prev, Link posthouse.Hash
}

// IsNextAfter reports whether b is the next entry after a.
func (b LinkMark) IsNextAfter(a LinkMark) bool {
	return b.Seq == a.Seq+1 && (a.Link.IsZero() || b.Link.IsZero() || b.Prev == a.Link) && (b.Seq != 1 || b.Prev.IsZero())
}

func (o *LogOrder) next(e *posthouse.Entry) error {
	m := LinkMark{e.Seq, e.Prev, e.Link()}
	before, behind := o.last, m
	switch {
	case o.r.Reverse && o.last.Seq == 0:
		before, behind = m, LinkMark{Seq: o.top() + 1}
		if m.Seq > o.top() {
			behind.Seq = m.Seq + 1 // written since
		}
	case o.r.Reverse:
		before, behind = m, o.last
	case o.last.Seq == 0:
		before = LinkMark{Seq: max(o.r.From, 1) - 1}
	}
	o.last = m
	if e.Seq == o.tail.Seq && m.Link != o.link {
		return o.wrongTail(e)
	}
	if behind.IsNextAfter(before) {
		return nil
	}
	if err := e.Check(); err != nil {
		return err // it says more
	}
	return o.CheckGap(before, behind)
}

// wrongTail returns what is wrong with a last entry that is not the summary's tail.
func (o *LogOrder) wrongTail(e *posthouse.Entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	info, err := o.Logs.Summary(o.Ctx, o.Thread)
	if err == nil && info.Tail == o.tail {
		return posthouse.Corrupt("entry %d of thread %q, or its signature, is not the one that the thread's summary says", e.Seq, o.Thread)
	}
	if err == nil || errors.Is(err, posthouse.ErrNotFound) {
		return o.removedMeanwhile()
	}
	return err
}

// top returns the sequence of the last entry that must be there.
func (o *LogOrder) top() uint64 {
	if o.r.To != 0 {
		return min(o.r.To, o.tail.Seq)
	}
	return o.tail.Seq
}

// checkEnd checks that the log goes as far as the summary says, when no limit ended the
// read.
func (o *LogOrder) checkEnd() error {
	from := max(o.r.From, 1)
	switch {
	case o.top() < from:
		return nil
	case o.last.Seq == 0:
		return o.CheckGap(LinkMark{Seq: from - 1}, LinkMark{Seq: o.top() + 1})
	case o.r.Reverse && o.last.Seq > from:
		return o.CheckGap(LinkMark{Seq: from - 1}, o.last)
	case !o.r.Reverse && o.last.Seq < o.top():
		return o.CheckGap(o.last, LinkMark{Seq: o.top() + 1})
	case !o.r.Reverse && o.last.Seq > o.tail.Seq:
		return o.checkGrown()
	}
	return nil
}

// checkGrown checks that the summary goes as far as the entries that were read.
func (o *LogOrder) checkGrown() error {
	info, err := o.Logs.Summary(o.Ctx, o.Thread)
	if err == nil && info.Tail.Seq < o.last.Seq && info.Tail == o.tail {
		return posthouse.Corrupt("entry %d of thread %q is behind the log's end, which the summary says is entry %d", o.last.Seq, o.Thread, o.tail.Seq)
	}
	if errors.Is(err, posthouse.ErrNotFound) {
		return o.removedMeanwhile()
	}
	return err
}

// CheckGap returns what is wrong between two entries that do not follow one another. It is
// nil if a record of the log explains the gap.
func (o *LogOrder) CheckGap(before, behind LinkMark) error {
	if ok, err := o.removed(before, behind); ok || err != nil {
		return err
	}
	// A thread that was removed by other means, while it was read, is not damaged.
	info, err := o.Logs.Summary(o.Ctx, o.Thread)
	if errors.Is(err, posthouse.ErrNotFound) && o.tail.Seq > 0 || err == nil && info.Tail.Seq < o.tail.Seq {
		return o.removedMeanwhile()
	}
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
		return err
	}
	for e, err := range o.Logs.Store.Read(o.Ctx, o.Thread, posthouse.Range{From: max(before.Seq, 1), To: behind.Seq, Headers: true}) {
		if err != nil {
			return err
		}
		if m := (LinkMark{e.Seq, e.Prev, e.Link()}); m.Seq == before.Seq && m.Link != before.Link && !before.Link.IsZero() ||
			m.Seq == behind.Seq && m.Link != behind.Link && !behind.Link.IsZero() || m.Seq > before.Seq && m.Seq < behind.Seq {
			return o.removedMeanwhile()
		}
	}
	switch first, last := before.Seq+1, behind.Seq-1; {
	case first == last:
		return posthouse.Corrupt("entry %d of thread %q is missing", first, o.Thread)
	case first < last:
		return posthouse.Corrupt("entries %d to %d of thread %q are missing", first, last, o.Thread)
	}
	return posthouse.Corrupt("entry %d of thread %q does not follow entry %d", behind.Seq, o.Thread, before.Seq)
}

// removed reports whether removal records of the current log explain a gap.
func (o *LogOrder) removed(before, behind LinkMark) (bool, error) {
	if behind.Seq <= before.Seq+1 {
		return false, nil
	}
	if o.gone.explainsGap(before.Seq, behind.Seq) {
		return true, nil
	}
	o.gone = removals{}
	versions := map[uint32]Span{}
	for e, err := range o.Logs.Store.Read(o.Ctx, o.Thread, posthouse.Range{Headers: true}) {
		if err != nil {
			return false, err
		}
		e.Bodies = nil
		recs, err := e.CheckRecords()
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
				versions[rel.Version] = Span{Version: rel.Version, First: rel.First, Last: e.Seq}
			}
		}
	}
	return o.gone.explainsGap(before.Seq, behind.Seq), nil
}

type removals struct {
	whole    uint64 // all before this entry
	versions []Span // but the last entry of each
}

func (r *removals) explainsGap(before, behind uint64) bool {
	return behind <= r.whole || slices.ContainsFunc(r.versions, func(s Span) bool { return s.First <= before+1 && behind <= s.Last })
}

func (o *LogOrder) removedMeanwhile() error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Message: fmt.Sprintf("thread %q was removed while it was read", o.Thread),
		Hint: "read it again",
	}
}
