package ledger

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger/internal/polling"
)

// A WatchQuery says what to watch, and from where.
type WatchQuery struct {
	Thread string // "": all threads
	Cursor string // of the last event seen; "": from the beginning; "now": from the call of Watch
}

// Watch yields events in commit order, those of a thread in the log's order, and blocks
// for more until ctx ends; then it stops without an error. With the cursor of an event
// it continues exactly after that event, even inside its entry. It fails with
// [posthouse.ErrInvalid] for a cursor that the store did not make, or no longer knows.
//
// If an entry cannot be read ([posthouse.ErrCorrupt], [posthouse.ErrSealed]), or
// entries before it are missing, Watch yields an event with its cursor, thread and
// number, and the error. The next events follow. Any other error is the last element,
// without an event.
//
// A store that is no [posthouse.Watcher] is polled each Options.Poll. Then events of
// different threads have no order, and the cursor of a watch of all threads grows with
// their number, by about 20 bytes each.
func (l *Ledger) Watch(ctx context.Context, q WatchQuery) iter.Seq2[*posthouse.Event, error] {
	inside, isInside := parseInside(q.Cursor)
	if isInside {
		q.Cursor = inside.behind
	}
	watcher, ok := l.core.Store.(posthouse.Watcher)
	if !ok {
		watcher = &polling.Watcher{Store: l.core.Store, Every: l.pollEvery, Thread: q.Thread}
	}
	entries := watcher.Watch(ctx, q.Cursor) // here, not at the first element: "now" is the time of the call
	return func(yield func(*posthouse.Event, error) bool) {
		w := watch{l: l.core.Core, ctx: ctx, q: q, whole: q.Cursor == "", yield: yield}
		if isInside {
			e, err := inside.entry(ctx, l.core.Store)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if e != nil && !w.yieldEvents(e, inside.seen) {
				return
			}
		}
		for e, err := range entries {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !w.yieldEvents(e, 0) {
				return
			}
		}
	}
}

// maxWatched bounds the threads that a watch remembers the last entry of, about 150
// bytes each: a server may have a thousand watches.
const maxWatched = 1 << 10

// lastSeen has the last entry of each thread that a watch met lately.
type lastSeen struct {
	young, old map[string]threadlog.LinkMark // old has those from before the newest half of maxWatched
}

// swap puts a thread's entry in the place of the one before, and returns that. forgot says that others
// were forgotten for it.
func (l *lastSeen) swap(thread string, m threadlog.LinkMark) (last threadlog.LinkMark, ok, forgot bool) {
	last, ok = l.young[thread]
	if !ok {
		last, ok = l.old[thread]
		if len(l.young) >= maxWatched/2 {
			forgot = len(l.old) > 0
			l.old, l.young = l.young, nil
		}
		if l.young == nil {
			l.young = map[string]threadlog.LinkMark{}
		}
	}
	l.young[thread] = m
	return last, ok, forgot
}

type watch struct {
	l     *core.Core
	ctx   context.Context
	q     WatchQuery
	seen  lastSeen
	whole bool               // what is not in seen was not watched before
	gap   threadlog.LogOrder // of the thread that lacked entries last
	yield func(*posthouse.Event, error) bool
}

// checkGap checks that nothing is missing between an entry and the previous one of its
// thread.
func (w *watch) checkGap(e *posthouse.Entry) error {
	m := threadlog.LinkMark{Seq: e.Seq, Prev: e.Prev, Link: e.Link()}
	last, ok, forgot := w.seen.swap(e.Thread, m)
	w.whole = w.whole && !forgot
	if !ok && !w.whole || m.Seq <= last.Seq || m.IsNextAfter(last) { // a lower number is of a thread that started over
		return nil
	}
	if w.gap.Thread != e.Thread {
		w.gap = threadlog.LogOrder{Logs: w.l.Logs, Ctx: w.ctx, Thread: e.Thread}
	}
	return w.gap.CheckGap(last, m)
}

// yieldEvents yields the events of an entry after those already seen. It reports
// whether to go on.
func (w *watch) yieldEvents(e *posthouse.Entry, seen int) bool {
	l, ctx, yield := w.l, w.ctx, w.yield
	if w.q.Thread != "" && e.Thread != w.q.Thread {
		return true
	}
	recs, err := e.CheckRecords()
	var evs []*posthouse.Event
	if err == nil {
		err = w.checkGap(e)
	}
	if err == nil {
		evs, err = eventsOf(ctx, l, e, recs)
	}
	if errors.Is(err, posthouse.ErrSealed) && removed(ctx, l, e) {
		return true // and its key with it
	}
	if threadlog.MayBeGone(err) {
		return yield(&posthouse.Event{Cursor: e.Cursor, Thread: e.Thread, Seq: e.Seq}, err)
	}
	if err != nil {
		yield(nil, err)
		return false
	}
	for i := seen; i < len(evs); i++ {
		if i < len(evs)-1 {
			at := insideCursor{e.Cursor, i + 1, e.Thread, e.Seq, [4]byte(e.Hash[:4])}
			evs[i].Cursor = at.String()
		}
		if !yield(evs[i], nil) {
			return false
		}
	}
	return true
}
