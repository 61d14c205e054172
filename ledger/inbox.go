package ledger

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/substituted"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/lists"
)

// A GateQuery selects open gates.
type GateQuery struct {
	Thread       string
	Coordination string
	Checkpoint   posthouse.ID
	Kind         string       // gates of this kind only
	All          bool         // with gates that wait for no person (timers, signals, other threads), or in a session
	Assignee     string       // gates that this person may decide: assigned to them or to no one, without their vote, not their own request
	Newest       bool         // newest first; otherwise oldest first
	After        posthouse.ID // continue after this gate, which may be decided by now
	Limit        int          // 0: all
}

// Gates yields the gates that wait for a decision: the inbox. Gates that the runtime
// answers, and those of sessions, are included only if q names their kind or asks for
// all.
//
// If a gate's record cannot be read ([posthouse.ErrCorrupt], [posthouse.ErrSealed]),
// Gates yields what its thread's summary knows with the error, and then the others. Any
// other error is the last element, without a gate.
func (l *Ledger) Gates(ctx context.Context, q GateQuery) iter.Seq2[*posthouse.Gate, error] {
	return func(yield func(*posthouse.Gate, error) bool) {
		b := &inbox{l: l.core.Core, ctx: ctx, GateQuery: q, readers: map[string]*threadlog.Reader{}}
		if q.Assignee != "" {
			var err error
			b.named, err = substituted.Read(ctx, l.core.Logs, l.Now())
			if err != nil {
				yield(nil, err)
				return
			}
		}
		n := 0
		for t, err := range b.open() {
			if err != nil {
				yield(nil, err)
				return
			}
			g, err := b.read(t)
			if g == nil && err == nil {
				continue
			}
			if !yield(g, err) || g == nil {
				return
			}
			if n++; n == q.Limit {
				return
			}
		}
	}
}

type inbox struct {
	GateQuery
	l       *core.Core
	ctx     context.Context
	named   []deciders.Substitution      // those that hold, if the gates are for a person
	readers map[string]*threadlog.Reader // of recent threads: gates of one entry are read once
}

// maxInboxReaders bounds the threads that an inbox caches entries of, [threadlog.KeepBytes] in all.
const maxInboxReaders = 16

// query returns the store's query. A gate that it yields need not match: only the
// gate's record says all about who may decide it.
func (b *inbox) query() posthouse.ThreadQuery {
	return posthouse.ThreadQuery{
		Thread: b.Thread, Gates: true, GateKind: b.Kind, People: b.Kind == "" && !b.All, Person: b.Assignee,
		Descending: b.Newest, After: string(b.After),
	}
}

// open yields, in order, the open gates that may match: the thread's summary with the
// gate in it.
func (b *inbox) open() iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		q := b.query()
		if b.Checkpoint != "" {
			ref, err := b.l.Logs.Find(b.ctx, b.Checkpoint)
			switch {
			case errors.Is(err, posthouse.ErrNotFound), err == nil && q.Thread != "" && q.Thread != ref.Thread:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			q.Thread = ref.Thread
		}
		late, err := b.overdueEscalations(&q)
		if err != nil {
			yield(nil, err)
			return
		}
		var last posthouse.ID
		for t, err := range b.threads(q) {
			for err == nil && len(late) > 0 && b.compare(late[0].Waiting[0].ID, t.Waiting[0].ID) <= 0 {
				first := late[0]
				late = late[1:]
				last = first.Waiting[0].ID
				if !yield(first, nil) {
					return
				}
			}
			if err == nil && t.Waiting[0].ID == last {
				continue // it was among the late ones
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		for _, t := range late {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// threads yields what the store has for the person, and for those they stand in for now, each gate
// once and in order.
func (b *inbox) threads(q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	var people []string
	add := func(name string) {
		for _, n := range []string{name, text.FoldPerson(name)} { // gates have marks of both
			if !slices.Contains(people, n) {
				people = append(people, n)
			}
		}
	}
	add(b.Assignee)
	for i := range b.named {
		if s := &b.named[i]; posthouse.SameName(s.To, b.Assignee) && s.Active(b.l.Now()) {
			add(s.By)
		}
	}
	if len(people) == 1 {
		return b.l.Store.Threads(b.ctx, q)
	}
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		type stream struct {
			next func() (*posthouse.ThreadInfo, error, bool)
			t    *posthouse.ThreadInfo
		}
		var streams []*stream
		advance := func(s *stream) error {
			t, err, more := s.next()
			s.t = nil
			if more {
				s.t = t
			}
			return err
		}
		for _, name := range people {
			one := q
			one.Person = name
			next, stop := iter.Pull2(b.l.Store.Threads(b.ctx, one))
			defer stop()
			s := &stream{next: next}
			streams = append(streams, s)
			if err := advance(s); err != nil {
				yield(nil, err)
				return
			}
		}
		for {
			var first *posthouse.ThreadInfo
			for _, s := range streams {
				if s.t != nil && (first == nil || b.compare(s.t.Waiting[0].ID, first.Waiting[0].ID) < 0) {
					first = s.t
				}
			}
			if first == nil || !yield(first, nil) {
				return
			}
			for _, s := range streams {
				for s.t != nil && s.t.Waiting[0].ID == first.Waiting[0].ID {
					if err := advance(s); err != nil {
						yield(nil, err)
						return
					}
				}
			}
		}
	}
}

func (b *inbox) compare(x, y posthouse.ID) int {
	if b.Newest {
		x, y = y, x
	}
	return cmp.Compare(x, y)
}

// overdueEscalations returns, in order, the gates with a due escalation that is
// not on record. Their summaries do not name the new deciders yet. A runner
// records escalations as they fall due, so these are few.
func (b *inbox) overdueEscalations(q *posthouse.ThreadQuery) (late []*posthouse.ThreadInfo, err error) {
	if b.Assignee == "" {
		return nil, nil
	}
	now := b.l.Now()
	any := *q
	any.Person = ""
	due := posthouse.ThreadQuery{Thread: q.Thread, DueBefore: posthouse.Millis(now.UnixMilli())}
	for t, err := range b.l.Store.Threads(b.ctx, due) {
		if err != nil {
			return nil, err
		}
		for i := range t.Waiting {
			w := &t.Waiting[i]
			if w.EscalateAt.IsZero() || w.EscalateAt.After(now) || !lists.MatchGate(&any, w) || any.After != "" && b.compare(w.ID, b.After) <= 0 {
				continue
			}
			late = append(late, lists.WithGate(t, w))
		}
	}
	slices.SortFunc(late, func(x, y *posthouse.ThreadInfo) int { return b.compare(x.Waiting[0].ID, y.Waiting[0].ID) })
	return late, nil
}

// read returns the gate in a summary, or nil if it does not match or is gone. A gate
// that cannot be read comes with the error.
func (b *inbox) read(t *posthouse.ThreadInfo) (*posthouse.Gate, error) {
	if b.Coordination != "" && t.CoordinationName() != b.Coordination {
		return nil, nil
	}
	w := &t.Waiting[0]
	g, err := b.reader(t.Thread).WaitingGate(w)
	if errors.Is(err, posthouse.ErrNotFound) || threadlog.MayBeGone(err) {
		g, err = b.l.Logs.Gate(b.ctx, w.ID)
		if errors.Is(err, posthouse.ErrNotFound) {
			return nil, nil // it went with its checkpoint since
		}
	}
	switch {
	case threadlog.MayBeGone(err):
		return w.Unread(t.Thread), err
	case err != nil:
		return nil, err
	case b.Checkpoint != "" && g.Checkpoint != b.Checkpoint,
		b.Assignee != "" && g.Decision == nil && !deciders.OpenTo(deciders.SeenBy(g, b.Assignee, b.named, b.l.Now()), b.Assignee, b.l.Now()):
		return nil, nil
	}
	return g, nil
}

func (b *inbox) reader(thread string) *threadlog.Reader {
	r, size := b.readers[thread], 0
	for _, have := range b.readers {
		size += have.Size
	}
	if size > threadlog.KeepBytes {
		clear(b.readers)
		r = nil
	}
	if r == nil {
		if len(b.readers) >= maxInboxReaders {
			clear(b.readers)
		}
		r = b.l.Logs.Reader(b.ctx, thread)
		b.readers[thread] = r
	}
	return r
}
